import pytest

from tests.data.engines import blas


@pytest.fixture
def blas_is_left_as_it_was():
    """Whatever a test does, BLAS has as many threads after as before."""
    before = blas()
    yield
    assert blas() == before
