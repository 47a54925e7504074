"""The limit of a control group, as version 1 and version 2 write it."""

import pytest

from separatrix.data.machine import blas, quota


@pytest.mark.parametrize(
    "group, files, cores",
    [
        ("0::/a/b\n", {"a/b/cpu.max": "150000 100000\n", "a/cpu.max": "max 100000\n"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "200000 100000\n"}, 2.0),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 0.5),
        ("0::/host/path\n", {"cpu.max": "300000 100000\n"}, 3.0),  # a container: its group is the root
        ("0::/a\n", {"a/cpu.max": "max 100000\n"}, None),
        (
            "4:cpu,cpuacct:/a\n2:memory:/b\n",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"},
            2.5,
        ),
        ("4:cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, None),
        ("0::/a\n", {"a/cpu.max": "nonsense\n"}, None),
        ("", {}, None),
    ],
)
def test_the_least_limit_counts(tmp_path, group, files, cores):
    (tmp_path / "group").write_text(group)
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert quota(tmp_path / "group", tmp_path / "root") == cores


def test_the_blas_of_numpy_is_found_with_its_threads():
    assert all(library.name and library.threads >= 1 for library in blas())
