"""What hunks must satisfy, so that base and head follow from them and from nothing else."""

from collections.abc import Sequence

from evalrunner.git.diff import DiffError, FileDiff, Hunk

MAX_LINES = 200_000
"""Line numbers go up to here: the lines before a hunk are rebuilt as blank ones."""

MAX_TOTAL_LINES = 2_000_000
"""The last line numbers of all files together go up to here."""


def last_line(hunks: Sequence[Hunk]) -> int:
    """The highest line number that hunks reach, in the base or in the head."""
    return max(
        (max(each.old_start + each.old_count, each.new_start + each.new_count) for each in hunks), default=0
    )


def check_total(files: Sequence[FileDiff]) -> None:
    """Bounds what a diff is rebuilt to.

    Raises:
        DiffError: the line numbers of its files add up to too many.
    """
    total = sum(last_line(file.hunks) for file in files)
    if total > MAX_TOTAL_LINES:
        raise DiffError(0, f"its files reach {total} lines together", allowed=f"at most {MAX_TOTAL_LINES}")


def check_file(file: FileDiff) -> None:
    """Checks the hunks of one file.

    Raises:
        DiffError: they lie outside the capped range, overlap, are not in order, do not follow from each
            other, end the file twice, or do not fit how the file changed.
    """
    _check_order(file.hunks)
    _check_ends(file.hunks)
    for change, sign, side in (("added", "+", "new"), ("deleted", "-", "deleted")):
        if file.change != change or not file.hunks:
            continue
        if len(file.hunks) > 1:
            raise DiffError(file.hunks[1].at, f"a {side} file has more than one hunk")
        start = file.hunks[0].new_start if change == "added" else file.hunks[0].old_start
        if start != 1 or any(line.sign != sign for line in file.hunks[0].lines):
            raise DiffError(file.hunks[0].at, f"the hunk of a {side} file is not the whole file")


def _check_order(hunks: Sequence[Hunk]) -> None:
    end, shift = 1, 0
    for hunk in hunks:
        for start, count in ((hunk.old_start, hunk.old_count), (hunk.new_start, hunk.new_count)):
            if start + count > MAX_LINES:
                raise DiffError(
                    hunk.at, "a line number is too large", b"%d" % (start + count), f"at most {MAX_LINES}"
                )
            if start == 0 and count:
                raise DiffError(hunk.at, "lines are counted from 1", b"0")
        if hunk.old_first < end:
            raise DiffError(hunk.at, "the hunk overlaps the one before it, or comes before it")
        if hunk.new_first != hunk.old_first + shift:
            raise DiffError(
                hunk.at,
                "the line number of the head does not follow from the hunks before",
                b"%d" % hunk.new_start,
                str(hunk.new_start + hunk.old_first + shift - hunk.new_first),
            )
        end = hunk.old_first + hunk.old_count
        shift += hunk.new_count - hunk.old_count


def _check_ends(hunks: Sequence[Hunk]) -> None:
    """Behind a line without a line feed, its side of the file has no further line."""
    for skipped in "+-":
        ended = False
        for hunk in hunks:
            for line in hunk.lines:
                if line.sign == skipped:
                    continue
                if ended:
                    raise DiffError(
                        hunk.at, "a line follows the one that has no newline at the end of the file"
                    )
                ended = not line.ended
