"""The public sets of the catalogue."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ENTRIES", "Entry"]

_GITHUB = "https://raw.githubusercontent.com"
_BEIR = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets"
_WEBIS = "webis-de/sigir20-sampling-bias-due-to-near-duplicates-in-learning-to-rank"
_WEBIS_FOLDS = {
    1: "ab05f742d7bf680db38f39d485788ccefc46ca5f9c450058adcf1b21cb2ed6eb",
    2: "882c9e3d0145608d906b25acccdc8cb1760faca6c13afbd86096b24bd9748680",
    3: "3598b6f1ff411e6fd5572e6bac392efc6814614fec68d881c1e4b5edaeb03c5d",
    4: "cdfa2d696b5bda4dfe27dfbba432e9dff2a481507736af594824881127cd4377",
    5: "a2db821816295163492ddeb9ef94a05bb80cb68c195a5e783167f65960ab03fb",
}
_WEBIS_COMMITS = dict.fromkeys(_WEBIS_FOLDS, "55ed9db8bb930c36d0c4c61c192f4ce242c2ff6a") | {
    3: "100f0c085053e4300452932f7ab37154440dc6c0"
}
_GRAPHCM = f"{_GITHUB}/CHIANGEL/GraphCM/ce7bcf11ccb7a4270a94e44cecd44137ac0cf1b3/data/demo"
_LIGHTGBM = f"{_GITHUB}/microsoft/LightGBM/v4.5.0/examples/lambdarank"
_MOVIES = f"{_GITHUB}/elastic/elasticsearch-labs/main/notebooks/search/sample_data/learning-to-rank"
_MICROSOFT = "Microsoft Research licence, for research use"


@dataclass(frozen=True)
class Entry:
    """One public set: its content, licence, origin and how to get it.

    `checksums` has the sha256 of each file; a set without them is not checked. `downloads` maps each file
    to its address; it is empty for sets that need a form or an agreement first: then `how` says what to do.
    """

    name: str
    title: str
    kind: str
    folder: str
    shape: str
    licence: str
    origin: str
    reader: str
    parts: tuple[str, ...]
    how: str
    checksums: dict[str, str]
    downloads: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain values, ready for JSON."""
        return asdict(self) | {"parts": list(self.parts)}


def _entry(name: str, title: str, kind: str, folder: str, base: str | None = None, **rest: Any) -> Entry:
    """An entry with what is usual; under `base` lie the files that have checksums."""
    known = {"checksums": {}, "downloads": {}, "parts": ("train", "valid", "test")}
    if base is not None:
        rest["downloads"] = {file: f"{base}/{file}" for file in rest["checksums"]}
    how = "`rankloop datasets get` downloads it" if rest.get("downloads") else ""
    return Entry(name, title, kind, folder, **{"how": how, **known, **rest})


def _letor(name: str, title: str, folder: str, shape: str, origin: str) -> Entry:
    return _entry(
        name,
        title,
        "features",
        folder,
        shape=shape,
        licence=_MICROSOFT,
        origin=origin,
        reader="folds",
        how=f"accept the licence and download it at {origin}, then unpack it as {folder}/Fold1/train.txt ...",
    )


def _beir(name: str, title: str, shape: str, licence: str, origin: str, parts: tuple[str, ...]) -> Entry:
    return _entry(
        name,
        title,
        "text",
        name,
        shape=shape,
        licence=licence,
        origin=origin,
        reader="beir",
        parts=parts,
        downloads={f"{name}.zip": f"{_BEIR}/{name}.zip"},
    )


_ALL = [
    _letor(
        "mslr-web10k",
        "Microsoft web search, 10,000 queries",
        "MSLR-WEB10K",
        "10,000 queries, about 1.2 million documents, 136 features, grades 0 to 4, five folds",
        "https://www.microsoft.com/en-us/research/project/mslr/",
    ),
    _letor(
        "mslr-web30k",
        "Microsoft web search, 30,000 queries",
        "MSLR-WEB30K",
        "31,531 queries, about 3.8 million documents, 136 features, grades 0 to 4, five folds",
        "https://www.microsoft.com/en-us/research/project/mslr/",
    ),
    _letor(
        "mq2007",
        "LETOR 4.0, TREC million query track 2007",
        "MQ2007",
        "1,692 queries, 69,623 documents, 46 features, grades 0 to 2, five folds",
        "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
    ),
    _letor(
        "mq2008",
        "LETOR 4.0, TREC million query track 2008",
        "MQ2008",
        "784 queries, 15,211 documents, 46 features, grades 0 to 2, five folds",
        "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
    ),
    _letor(
        "ohsumed",
        "LETOR 3.0, medical abstracts",
        "OHSUMED",
        "106 queries, 16,140 documents, 45 features, grades 0 to 2, five folds",
        "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
    ),
    _entry(
        "yahoo-ltrc",
        "Yahoo learning to rank challenge, set 1",
        "features",
        "yahoo_ltrc",
        shape="29,921 queries, 709,877 documents, 700 features (519 in set 1), grades 0 to 4",
        licence="Yahoo Webscope agreement, non-commercial research at universities",
        origin="https://webscope.sandbox.yahoo.com/catalog.php?datatype=c",
        reader="yahoo",
        how="ask for set C14B at Yahoo Webscope, then unpack it as yahoo_ltrc/set1.train.txt, "
        "set1.valid.txt and set1.test.txt",
    ),
    _entry(
        "istella-s",
        "Istella web search, the small set",
        "features",
        "istella-s-letor",
        shape="33,018 queries, 3,408,630 documents, 220 features, grades 0 to 4",
        licence="Istella LETOR licence agreement, non-commercial research",
        origin="http://quickrank.isti.cnr.it/istella-dataset/",
        reader="istella",
        how="accept the licence at the origin, then unpack it as istella-s-letor/sample/train.txt, "
        "vali.txt and test.txt",
    ),
    _entry(
        "webis-clueweb09",
        "web search features of the TREC web tracks 2009 to 2012",
        "features",
        "webis_clueweb09_letor",
        shape="61 queries, 26,646 documents, 42 features, grades 0 to 4, five folds",
        licence="CC BY-SA 4.0",
        origin=f"https://github.com/{_WEBIS}",
        reader="webis",
        parts=("train", "test"),
        checksums={f"Fold{i}_test.txt": digest for i, digest in _WEBIS_FOLDS.items()},
        downloads={
            f"Fold{i}_test.txt": f"{_GITHUB}/{_WEBIS}/{commit}/data/features/ClueWeb09/Fold{i}/test.txt"
            for i, commit in _WEBIS_COMMITS.items()
        },
    ),
    _entry(
        "lightgbm-example",
        "LightGBM's own ranking example",
        "features",
        "lightgbm_lambdarank",
        shape="201 + 50 queries, 3,005 + 768 documents, 300 features, grades 0 to 4",
        licence="MIT",
        origin="https://github.com/microsoft/LightGBM/tree/master/examples/lambdarank",
        reader="lightgbm",
        parts=("train", "test"),
        checksums={
            "rank.train": "a0c7201c89120879c14a5059e091f441cbf2a29b8aaef363885ccb1a530448df",
            "rank.train.query": "40cb5fef637229311cd30fab13cb7fb633b023e86a87ff04ec55db420143d6af",
            "rank.test": "3b1219ce117a0a36d2f76c02de7e7831c1d79af0d40f5195c03178bbe26c824b",
            "rank.test.query": "36dca82ba3bf99201bac3987b00a8fbf6fe5f563e9fa6d0da90e783710a32df4",
        },
        base=_LIGHTGBM,
    ),
    _entry(
        "msrd-movies",
        "movie search with human labels",
        "text",
        "msrd_movies",
        shape="9,750 movies, 12,212 queries, 288,464 binary labels",
        licence="CC BY-SA 4.0",
        origin="https://github.com/metarank/msrd, as adapted in github.com/elastic/elasticsearch-labs",
        reader="movies",
        parts=("all",),
        checksums={
            "movies-corpus.jsonl.gz": "e7dbd5a64fd4ec15d9224795eda8d833fa12da871620ea661a36cca6eefabb00",
            "movies-judgments.tsv.gz": "7e36d9231e85a0d31b18ce51496b5c97bf565d96e62e7a2bcac1541e7c1d4f06",
        },
        base=_MOVIES,
    ),
    _entry(
        "cranfield",
        "abstracts on aerodynamics, the classic text collection",
        "text",
        "cranfield",
        shape="1,400 documents, 225 queries, 1,837 judgments",
        licence="freely distributed",
        origin="http://ir.dcs.gla.ac.uk/resources/test_collections/cran/",
        reader="cranfield",
        parts=("all",),
        checksums={
            "cran.all.1400": "b234544b6ceccd131520df4a3cb6d42aee6576eb577933d047e722bbfe7b0b09",
            "cran.qry": "99578ceb88941ef89c14faf7c63c23776a376d8fba319b990f01d0c601d8b03f",
            "cranqrel": "92e54b58dac0b980152178f350d892fae66c8a239b8a11715b835fb8d2f6bc0e",
        },
        downloads={"cran.tar.gz": "http://ir.dcs.gla.ac.uk/resources/test_collections/cran/cran.tar.gz"},
    ),
    _beir(
        "nfcorpus",
        "medical articles for lay questions",
        "3,633 documents, 3,237 queries (323 for test), grades 0 to 2",
        "for academic use (BEIR lists its copy as CC BY-SA 4.0)",
        "https://www.cl.uni-heidelberg.de/statnlpgroup/nfcorpus/",
        ("train", "valid", "test"),
    ),
    _beir(
        "scifact",
        "abstracts that support or refute a claim",
        "5,183 documents, 1,109 queries (300 for test), binary labels",
        "see its origin (BEIR lists its copy as CC BY-SA 4.0)",
        "https://github.com/allenai/scifact",
        ("train", "test"),
    ),
    _entry(
        "trec-session2014",
        "search pages with clicks from the TREC session track 2014, as prepared for GraphCM",
        "clicks",
        "trec_session2014_graphcm",
        shape="3,596 pages of 10, 1,610 clicks; 856 graded pages",
        licence="MIT",
        origin="https://github.com/CHIANGEL/GraphCM",
        reader="session",
        parts=("train", "valid", "test", "graded"),
        checksums={
            "train_per_query_quid.txt": "03db6562b02901f44edbab01617ea0757ab09f528cdf09d79a0964e07c30ec73",
            "valid_per_query_quid.txt": "8f439f08835dddcc575a037a7f43447db2be9df3f6556a0fb7bf3fb643185486",
            "test_per_query_quid.txt": "50e72e87688fea98ac3c05cf4a4a746fc3a0b8ad80c47ad2552016223f5b3d78",
            "human_label_for_GraphCM_per_query_quid.txt": "51b1ac3100003785912ad47ca32e759b3497e9a69930cc02ec4ecd8850e616df",  # noqa: E501
        },
        base=_GRAPHCM,
    ),
    _entry(
        "open-bandit",
        "fashion recommendations with known propensities, by ZOZO",
        "clicks",
        "open_bandit_dataset",
        shape="about 26 million impressions in three campaigns under two policies",
        licence="CC BY 4.0",
        origin="https://research.zozo.com/data.html",
        reader="bandit",
        parts=("random/all", "random/men", "random/women", "bts/all", "bts/men", "bts/women"),
        how="download it at the origin, then unpack it as open_bandit_dataset/random/all/all.csv ...",
    ),
]

ENTRIES = {entry.name: entry for entry in _ALL}
