"""What ends a job, and what only ends a worker."""

__all__ = ["AGAIN", "RETRIES", "LostWorkerError", "passing"]

RETRIES = 3  # times that what a lost worker did is begun again
AGAIN = "a worker was lost: begun again"


class LostWorkerError(RuntimeError):
    """Workers died again and again over the same work."""

    def __init__(self, which: int, of: int, tries: int) -> None:
        super().__init__(which, of, tries)

    def __str__(self) -> str:
        which, of, tries = self.args
        return (
            f"a worker died {tries} times over part {which + 1} of {of}; it may need more memory than there "
            "is: take more shards, or fewer workers. What was finished is kept where the job has an out or a "
            "checkpoint, and the same call goes on from there"
        )


def passing(error: BaseException) -> bool:
    """Whether an error may come from the loss of another worker, so that it is worth another try.

    >>> passing(RuntimeError("connection closed by peer")), passing(OSError(28, "no room"))
    (True, False)
    """
    kind = type(error)
    return (
        kind.__name__ in ("LightGBMError", "DistBackendError", "DistNetworkError")
        or kind.__module__.partition(".")[0] == "ray"
        or (isinstance(error, RuntimeError | ConnectionError) and not isinstance(error, LostWorkerError))
    )
