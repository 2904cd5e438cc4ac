// @ts-check
/**
 * A client of a rankloop service: search, what people did, documents. One file, no build, no dependency.
 *
 *   import { Rankloop } from "./rankloop.js";
 *   const shop = new Rankloop("https://example.org/shop", { user: "ann" });
 *   const page = await shop.search("red running shoes", { k: 10, facets: ["brand"] });
 *   page.click(page.results[0].id);
 *
 * In a browser the site of the page must be among the `origins` of the service. A token or a key must never
 * be in a browser: documents and trusted searches are for Node, Deno or Bun.
 */

/** @typedef {string | number | boolean} Scalar */
/** @typedef {{ min?: number | string, max?: number | string }} Range */
/** @typedef {Scalar | Scalar[] | Range} Filter */

/**
 * @typedef {object} Options
 * @property {string} [user] any stable identifier of the person; the service stores a keyed hash
 * @property {string} [token] the administration token, for documents; never in a browser
 * @property {string} [key] the key of a trusted program, for its own limits; never in a browser
 * @property {number} [timeout] milliseconds for one request, by default 10000
 * @property {number} [retries] how often a request that may succeed later is sent again, by default 2
 * @property {typeof globalThis.fetch} [fetch] another fetch, for tests
 */

/**
 * @typedef {object} SearchOptions
 * @property {number} [k] how many results
 * @property {number} [offset] how many results to leave out, where the service has pages
 * @property {Record<string, Filter>} [filters] by field: a value, one of several, or a range
 * @property {string[]} [facets] keyword fields to count
 * @property {string[]} [fields] stored fields to send; by default all
 * @property {Record<string, number>} [user_features] for features like user(age)
 * @property {string} [layout] where the results are shown
 * @property {string} [user] the person, if not that of the client
 * @property {boolean} [unfinished] the last word may be incomplete
 * @property {boolean} [record] false for a preview, whose clicks cannot be counted
 * @property {AbortSignal} [signal] gives the request up
 */

/**
 * @typedef {object} Result
 * @property {number} position
 * @property {string} id
 * @property {number} score
 * @property {string} title
 * @property {string | null} url
 * @property {string} snippet HTML in which everything is escaped and matches are in <mark>
 * @property {Record<string, any>} document
 */

/** @typedef {"click" | "dwell" | "conversion" | "viewport"} Kind */
/** @typedef {{ id: string, impression: string, kind: Kind, document: string, value?: number }} Event */
/** @typedef {{ id: string | null, status: "stored" | "deleted" | "absent" | "refused", reason: string | null }} Item */
/** @typedef {{ items: Item[], generation: number }} Changed */
/** @typedef {{ accepted: number, refused: { id: string, reason: string }[] }} Accepted */

const LATER = new Set([429, 502, 503, 504]); // what may succeed when it is sent again
const BATCH = 100; // events of one request
const WAIT = 300; // milliseconds in which events are collected
const LONGEST_WAIT = 10_000; // milliseconds between two tries

/** An answer that is an error: `message` is its sentence, `status` its number, 0 where there was no answer. */
export class RankloopError extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.name = "RankloopError";
    this.status = status;
  }
}

/** A page of results; what people do on it is sent with its signature. */
export class Page {
  /** @param {Rankloop} client @param {any} answer */
  constructor(client, answer) {
    /** @private */
    this.client = client;
    /** @type {string} */ this.query = answer.query;
    /** @type {number} */ this.found = answer.found;
    /** @type {Result[]} */ this.results = answer.results;
    /** @type {Record<string, Record<string, number>>} */ this.facets = answer.facets;
    /** @type {string | null} */ this.impression = answer.impression;
    /** The answer as it came. @type {Record<string, any>} */ this.answer = answer;
  }

  /** A result was clicked. @param {string} document */
  click(document) {
    this.happened("click", document);
  }

  /** A result was read for so many seconds. @param {string} document @param {number} seconds */
  dwell(document, seconds) {
    this.happened("dwell", document, seconds);
  }

  /** A result was bought, or what else counts, worth so much. @param {string} document @param {number} [value] */
  convert(document, value) {
    this.happened("conversion", document, value);
  }

  /** A result came into view. @param {string} document */
  view(document) {
    this.happened("viewport", document);
  }

  /** @param {Kind} kind @param {string} document @param {number} [value] */
  happened(kind, document, value) {
    if (this.impression === null) return; // a preview
    const event = { id: name(), impression: this.impression, kind, document };
    this.client.record(value === undefined ? event : { ...event, value });
  }
}

export class Rankloop {
  /** @param {string} address of the service, with its prefix @param {Options} [options] */
  constructor(address, options = {}) {
    this.address = address.replace(/\/+$/, "");
    this.options = options;
    /** @type {Event[]} */ this.waiting = [];
    /** @type {ReturnType<typeof setTimeout> | undefined} */ this.timer = undefined;
    if (typeof globalThis.document !== "undefined") {
      globalThis.document.addEventListener("visibilitychange", () => {
        if (globalThis.document.visibilityState === "hidden") this.leave();
      });
    }
  }

  /**
   * A page of results.
   * @param {string} query @param {SearchOptions} [options] @returns {Promise<Page>}
   */
  async search(query, options = {}) {
    const { signal, ...wanted } = options;
    const user = wanted.user ?? this.options.user;
    const body = { query, ...wanted, ...(user === undefined ? {} : { user }) };
    return new Page(this, await this.call("POST", "/search", { body, signal }));
  }

  /**
   * Titles that fit what was typed so far.
   * @param {string} query @param {{ n?: number, signal?: AbortSignal }} [options] @returns {Promise<string[]>}
   */
  async suggest(query, { n = 5, signal } = {}) {
    const asked = new URLSearchParams({ query, n: String(n) });
    return (await this.call("GET", `/suggest?${asked}`, { signal })).suggestions;
  }

  /**
   * Your own candidates in the order of the ranker.
   * @param {string} query
   * @param {{ id: string, features?: Record<string, number | null> }[]} candidates
   * @param {{ k?: number, user?: string, layout?: string, record?: boolean }} [options]
   * @returns {Promise<Page>}
   */
  async rank(query, candidates, options = {}) {
    const user = options.user ?? this.options.user;
    const body = { query, candidates, ...options, ...(user === undefined ? {} : { user }) };
    return new Page(this, await this.call("POST", "/rank", { body }));
  }

  /** Collect an event; it is sent soon, and again if the service is busy. @param {Event} event */
  record(event) {
    this.waiting.push(event);
    if (this.waiting.length >= BATCH) void this.flush();
    else this.timer ??= setTimeout(() => void this.flush(), WAIT);
  }

  /** Send the events that wait. @returns {Promise<Accepted>} how many were taken, and which were refused */
  async flush() {
    clearTimeout(this.timer);
    this.timer = undefined;
    /** @type {Accepted} */
    const told = { accepted: 0, refused: [] };
    while (this.waiting.length) {
      const events = this.waiting.splice(0, BATCH);
      try {
        const answer = await this.call("POST", "/events", { body: { events }, keepalive: true });
        told.accepted += answer.accepted;
        told.refused.push(...answer.refused);
      } catch (error) {
        if (!(error instanceof RankloopError) || (error.status >= 400 && !LATER.has(error.status))) throw error;
        this.waiting.unshift(...events); // sent again with the next ones: an event counts once
        return told;
      }
    }
    return told;
  }

  /** Store documents, each in place of the one with its id. @param {Record<string, any>[]} documents @param {string} [key] */
  async put(documents, key) {
    return this.change("PUT", { documents }, key);
  }

  /** Change the given fields of documents; null removes one. @param {Record<string, any>[]} documents @param {string} [key] */
  async patch(documents, key) {
    return this.change("PATCH", { documents }, key);
  }

  /** Delete documents by id. @param {(string | number)[]} ids @param {string} [key] */
  async delete(ids, key) {
    return this.change("DELETE", { ids }, key);
  }

  /**
   * @private @param {string} method @param {any} body @param {string} [key] the same key does it once
   * @returns {Promise<Changed>}
   */
  change(method, body, key = name()) {
    return this.call(method, "/documents", { body, headers: { "Idempotency-Key": key } });
  }

  /**
   * Send what waits while the page goes away; nobody can wait for the answer. (A beacon would carry cookies,
   * which a service on another site does not take.)
   */
  leave() {
    while (this.waiting.length) {
      const events = this.waiting.splice(0, BATCH);
      void this.ask("POST", "/events", { body: { events }, keepalive: true }).catch(() => this.waiting.push(...events));
    }
  }

  /**
   * @private @param {string} method @param {string} path
   * @param {{ body?: any, headers?: Record<string, string>, signal?: AbortSignal, keepalive?: boolean }} request
   * @returns {Promise<any>}
   */
  async call(method, path, request) {
    const { retries = 2 } = this.options;
    for (let tries = 0; ; tries++) {
      /** @type {Response | undefined} */
      let answer;
      try {
        answer = await this.ask(method, path, request);
        if (answer.ok) return await answer.json();
      } catch (error) {
        if (request.signal?.aborted) throw error;
        if (tries >= retries) throw new RankloopError(`no answer from ${this.address}: ${error}`, 0);
      }
      if (answer && (!LATER.has(answer.status) || tries >= retries)) {
        throw new RankloopError(await sentence(answer), answer.status);
      }
      const asked = Number(answer?.headers.get("Retry-After")) * 1000;
      await new Promise((done) => setTimeout(done, Math.min(asked || 200 * 2 ** tries, LONGEST_WAIT)));
    }
  }

  /**
   * @private One try. @param {string} method @param {string} path
   * @param {{ body?: any, headers?: Record<string, string>, signal?: AbortSignal, keepalive?: boolean }} request
   * @returns {Promise<Response>}
   */
  ask(method, path, { body, headers = {}, signal, keepalive }) {
    const { token, key, timeout = 10_000, fetch = globalThis.fetch } = this.options;
    const limit = AbortSignal.timeout(timeout);
    return fetch(this.address + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(key ? { "X-Api-Key": key } : {}),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      keepalive,
      credentials: "omit",
    });
  }
}

/** The sentence of an error. @param {Response} answer @returns {Promise<string>} */
async function sentence(answer) {
  try {
    return String((await answer.json()).detail);
  } catch {
    return `${answer.status} ${answer.statusText}`;
  }
}

/** A new name for an event or a request. @returns {string} */
function name() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
}
