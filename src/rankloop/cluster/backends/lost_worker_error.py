"""The error for work that workers did not survive, and which errors are worth another try."""

__all__ = ["AGAIN", "RETRIES", "LostWorkerError", "is_transient"]

RETRIES = 3  # times that the task of a lost worker is started again
AGAIN = "a worker was lost: started again"


class LostWorkerError(RuntimeError):
    """Workers died repeatedly over the same task."""

    def __init__(self, which: int, of: int, tries: int) -> None:
        super().__init__(which, of, tries)

    def __str__(self) -> str:
        which, of, tries = self.args
        return (
            f"a worker died {tries} times over part {which + 1} of {of}; it may need more memory than there "
            "is: use more shards, or fewer workers. Finished parts are kept where the job has an out or a "
            "checkpoint, and the same call resumes after them"
        )


def is_transient(error: BaseException) -> bool:
    """Whether an error may be due to the loss of another worker, so that another try may succeed.

    >>> is_transient(RuntimeError("connection closed by peer")), is_transient(OSError(28, "no room"))
    (True, False)
    """
    kind = type(error)
    return (
        kind.__name__ in ("LightGBMError", "DistBackendError", "DistNetworkError")
        or kind.__module__.partition(".")[0] == "ray"
        or (isinstance(error, RuntimeError | ConnectionError) and not isinstance(error, LostWorkerError))
    )
