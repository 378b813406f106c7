"""Studies on a Dask cluster: who may play, and what is said when somebody is lost."""

import concurrent.futures
import gc
import logging.handlers
import os
import re
import shutil
import subprocess
import threading
import warnings

import dask
import distributed
import pytest

import manyarms as ma
from manyarms.cli import main
from manyarms.lab import Study, cluster_executor, needed_modules, plan_of_study, run
from manyarms.lab.running import chunks, cluster, runner
from manyarms.lab.running.cluster import ClusterExecutor, deaths
from tests.dask_processes import DaskProcesses, other_sources, until, without_package

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("uncompiled")]

STUDY = Study.of(
    "small",
    {"uniform": ma.UniformPlay()},
    {"still": ma.World(ma.PowerLaw(beta=1.0))},
    horizons=[20],
    replications=40,
    seed=3,
    checkpoints=4,
)
PLAIN = {"NUMBA_DISABLE_JIT": "1"}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setitem(chunks.CHUNK_ROUNDS, "cpu", 80)  # four replications: ten chunks
    for module in (cluster, runner):
        monkeypatch.setattr(module, "LOOK_EVERY", 0.1)


@pytest.fixture
def wanted(tmp_path):
    """The bytes of a run that nobody disturbs."""
    return [path.read_bytes() for path in run(STUDY, tmp_path / "undisturbed")]


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    return other_sources(tmp_path_factory.mktemp("others"))


def on_cluster(address, folder, wait=60.0, **how):
    with cluster_executor(address, needed_modules(STUDY.cells), wait) as executor:
        return [path.read_bytes() for path in run(STUDY, folder, executor=executor, **how)]


# ---------------------------------------------------------------- who may play


def test_only_workers_of_the_same_sources_play_whenever_they_come(tmp_path, wanted, others, monkeypatch):
    right, seen = [], []

    def a_wrong_one_and_then_a_right_one(processes):
        until(lambda: any("it has no worker, for" in str(one.message) for one in seen))
        processes.start_worker(others)
        until(lambda: any("is left out" in str(one.message) for one in seen))
        right.append(processes.start_worker())

    with DaskProcesses(tmp_path, **PLAIN) as processes:
        with pytest.raises(
            TimeoutError, match=r"has no worker, for \d+ seconds; start one with: dask worker tcp.*kept"
        ):
            on_cluster(processes.address, tmp_path / "cluster", wait=0.2)
        monkeypatch.setattr(cluster, "SAY_AFTER", 0.1)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            thread = threading.Thread(target=a_wrong_one_and_then_a_right_one, args=[processes])
            thread.start()
            assert on_cluster(processes.address, tmp_path / "cluster") == wanted
            thread.join()
        assert any(re.search(r"other sources of 'manyarms'.*install the same", str(one.message)) for one in seen)

        # Next time both are there from the beginning.
        with pytest.warns(UserWarning, match="is left out: .* has other sources of 'manyarms'"):
            assert on_cluster(processes.address, tmp_path / "cluster", resume=False) == wanted

        # The wrong one alone is refused before anything is deleted; where Dask chooses, the chunk itself finds out.
        right[0].kill()
        with distributed.Client(processes.address) as client:
            until(lambda: len(client.nthreads()) == 1)
            with pytest.raises(ImportError, match=r"no worker .* can be used; tcp://.*: .*install the same"):
                on_cluster(processes.address, tmp_path / "cluster", resume=False)
            assert plan_of_study(STUDY, tmp_path / "cluster")["rounds left"] == 0
            with pytest.raises(ImportError, match=r"a worker \(process .*\) has other sources of 'manyarms'.*install"):
                run(STUDY, tmp_path / "unguarded", executor=client.get_executor())
        assert not list((tmp_path / "unguarded").rglob("*.parquet"))


def test_a_scheduler_without_the_package_is_refused(tmp_path):
    with (
        DaskProcesses(tmp_path, without_package(tmp_path / "without"), **PLAIN) as processes,
        pytest.raises(ImportError, match=r"the scheduler .*there is none.*install the same version of manyarms"),
    ):
        on_cluster(processes.address, tmp_path / "cluster")
    assert not (tmp_path / "cluster").exists()


class FakeClient:
    """A cluster as its client sees it, in which nothing is played."""

    def __init__(self, **threads):
        self.threads = threads
        self.status = "running"

    def nthreads(self):
        return self.threads


@pytest.fixture
def said(monkeypatch):
    """What workers answer; those that are not in here are silent."""
    answers = {}

    def ask(client, worker, modules):
        future = concurrent.futures.Future()
        if worker in answers:
            future.set_result(answers[worker])
        return future

    monkeypatch.setattr(cluster, "ask", ask)
    return answers


def test_who_has_not_said_that_it_is_the_same_is_not_used(said):
    said |= {
        "same": None,
        "other": ImportError("install"),
        "lost": OSError("gone"),
        "old": AttributeError("import_same"),
    }
    executor = ClusterExecutor(FakeClient(same=2, other=2, lost=2, old=2, silent=2), "tcp://host:1", {})
    assert executor.look() == {"other": "install", "old": "import_same; install the same version of manyarms there"}
    assert executor.ahead() == 2  # those of the one
    said |= {"other": None, "lost": None}
    assert executor.look() == {}
    assert executor.ahead() == 4  # the lost one is asked again; who was left out stays so
    executor._asked["silent"].set_result(None)  # not asked twice, and not waited for
    executor.look()
    assert executor.ahead() == 6
    del executor.client.threads["same"]
    executor.look()
    assert executor.ahead() == 4
    executor.client.status = "connecting"  # without a scheduler there is nobody
    executor.look()
    assert executor.ahead() == 1


def test_it_is_said_that_there_is_no_worker_until_that_is_an_error(said, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(cluster.time, "monotonic", lambda: clock[0])
    said |= {"late": None, "other": ImportError("install")}
    client = FakeClient()
    executor = ClusterExecutor(client, "tcp://host:1", {}, wait=150.0)
    warned = {}

    def watch_at(second):
        clock[0] = float(second)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            executor.watch()
        if seen:
            [warned[second]] = [str(one.message) for one in seen]

    for second in range(140):
        watch_at(second)
    assert list(warned) == [5, 65, 125]
    assert "it has no worker, for 65 seconds now; waiting for 85 more (--wait)" in warned[65]
    client.threads = {"late": 1}
    watch_at(149)  # it has come, and the time begins anew when it goes
    client.threads = {"other": 1}
    watch_at(200)
    watch_at(349)
    with pytest.raises(
        TimeoutError, match=r"no worker that can be used \(1 left out; other: install\), for 150 s.*kept"
    ):
        watch_at(350)


@pytest.mark.parametrize("wait", ["-1", "nan"])
def test_a_time_to_wait_that_cannot_be_is_refused(wait, tmp_path, capsys):
    assert main(["run", "explained", "--folder", str(tmp_path), "--cluster", "local:1", "--wait", wait]) == 2
    assert "the seconds to wait for a worker must be at least 0, not " in capsys.readouterr().err


def test_whatever_dask_says_of_a_lost_scheduler_it_is_told_in_one_way(said):
    said["same"] = None
    client = FakeClient(same=1)
    executor = ClusterExecutor(client, "tcp://host:1", {})

    def submit(*_, **__):
        client.status = "closed"
        raise RuntimeError("Client is closed. Can't send update-graph message.")

    client.submit = submit
    for _ in range(2):  # as it is lost, and after
        with pytest.raises(
            ConnectionError, match=r"the cluster tcp://host:1 has lost its scheduler; start it again.*kept"
        ):
            executor.submit(abs, -1)


# ---------------------------------------------------------------- who is lost


def test_a_chunk_that_kills_its_workers_is_named_and_the_rest_is_kept(tmp_path, wanted, monkeypatch):
    play = runner.play_described

    def deadly(described, first, *rest):
        if first == 8:
            os._exit(1)
        return play(described, first, *rest)

    monkeypatch.setattr(runner, "play_described", deadly)
    monkeypatch.setattr(runner, "ATTEMPTS", 2)
    with DaskProcesses(tmp_path, **PLAIN) as processes:
        for _ in range(2):
            processes.start_worker()
        with distributed.Client(processes.address) as client:
            client.wait_for_workers(2)
        with pytest.raises(RuntimeError, match=r"replications 8 to 11 of the cell 'uniform, still.*: 2 workers .*kept"):
            on_cluster(processes.address, tmp_path / "cluster")
        assert plan_of_study(STUDY, tmp_path / "cluster")["rounds left"] < STUDY.rounds()
    assert [path.read_bytes() for path in run(STUDY, tmp_path / "cluster")] == wanted


def test_what_dask_itself_gives_up_is_named_too(tmp_path):
    lost = distributed.KilledWorker("task", None, 3)
    assert deaths(lost) == 4
    assert deaths(OSError()) == 0

    numbers = []

    class Killing(concurrent.futures.Executor):
        def submit(self, function, *args):
            numbers.append(args[-1])
            future = concurrent.futures.Future()
            future.set_exception(lost)
            return future

    with pytest.raises(RuntimeError, match=r"replications \d+ to \d+ of the cell 'uniform.*: 8 workers .*kept"):
        run(STUDY, tmp_path, executor=Killing())
    assert len(set(numbers)) == len(numbers) > 10  # no two calls are alike, as Dask must be told


CERTIFICATES = [f"distributed.comm.tls.{name}" for name in ("ca-file", "client.cert", "client.key")]


@pytest.fixture
def protocol(tmp_path):
    """TLS, if certificates can be made for it, so that it is tried as well: its name, and the settings of processes."""
    if shutil.which("openssl") is None:
        yield {"protocol": "tcp"}
        return
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", tmp_path / "key", "-out", tmp_path / "cert"]
    subprocess.run(["openssl", "req", "-x509", *made, *subject], check=True, capture_output=True)
    of_processes = {
        f"DASK_DISTRIBUTED__COMM__TLS__{side}__{what}": str(tmp_path / what.lower())
        for side in ("SCHEDULER", "WORKER")
        for what in ("CERT", "KEY")
    }
    of_processes["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"] = str(tmp_path / "cert")
    own = {name: str(tmp_path / ("key" if name.endswith("key") else "cert")) for name in CERTIFICATES}
    with dask.config.set(own):
        yield {"protocol": "tls"} | of_processes


@pytest.mark.filterwarnings("ignore:.*ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning")
def test_a_lost_scheduler_is_told_in_a_sentence_and_the_run_goes_on_later(
    tmp_path, wanted, protocol, monkeypatch, capsys
):
    monkeypatch.setattr(cluster, "SECONDS_TO_REACH", 1.0)
    logged = logging.handlers.BufferingHandler(1_000)
    file = tmp_path / "small.toml"
    file.write_text(
        'name = "small"\nseed = 3\nreplications = 40\nhorizons = [20]\ncheckpoints = 4\n'
        '[worlds.still]\nreservoir = {type = "PowerLaw", beta = 1.0}\n[policies.uniform]\ntype = "UniformPlay"\n'
    )
    words = ["run", str(file), "--folder", str(tmp_path / "cluster"), "--cluster"]
    with DaskProcesses(tmp_path, **PLAIN, **protocol) as processes:
        processes.start_worker()
        keep = runner.keep

        def keep_and_kill(*args):
            keep(*args)
            processes.scheduler.kill()

        monkeypatch.setattr(runner, "keep", keep_and_kill)
        logging.getLogger("distributed.client").addHandler(logged)
        assert main([*words, processes.address]) == 2
        logging.getLogger("distributed.client").removeHandler(logged)
        said = capsys.readouterr().err
        monkeypatch.setattr(runner, "keep", keep)
    gc.collect()  # Dask does not close a socket that was refused: that is said here, and not in a later test
    assert f"manyarms run: the cluster {processes.address} has lost its scheduler; start it again" in said
    assert "kept" in said
    assert "Traceback" not in said
    assert not logged.buffer  # nor does Dask say it in its own words
    assert plan_of_study(STUDY, tmp_path / "cluster")["rounds left"] < STUDY.rounds()
    assert [path.read_bytes() for path in run(STUDY, tmp_path / "cluster")] == wanted


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("ucx://127.0.0.1:8786", ["ucx://127.0.0.1:8786", "distributed-ucxx", "tcp://"]),
        ("tls://127.0.0.1:8786", ["tls://127.0.0.1:8786", "certificates", "distributed.comm.tls"]),
        ("", ["tcp://host:8786", "not ''"]),
        ("http://127.0.0.1:8786", ["tcp://host:8786", "http"]),
        ("tcp://", ["tcp://host:8786", "'tcp://'"]),
        ("tcp://127.0.0.1", ["tcp://host:8786", "'tcp://127.0.0.1'"]),
        ("tcp://127.0.0.1:99999", ["tcp://host:8786", "99999"]),
        ("tcp://127.0.0.1:x", ["tcp://host:8786", ":x"]),
    ],
)
def test_an_address_that_cannot_be_used_is_an_error_before_any_work(where, words, tmp_path, capsys):
    assert main(["run", "explained", "--folder", str(tmp_path / "results"), "--cluster", where]) == 2
    said = capsys.readouterr().err
    for word in words:
        assert word in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "results").exists()


def test_a_cluster_that_does_not_answer_is_an_error(monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_TO_REACH", 0.2)
    with pytest.raises(OSError, match=r"the cluster tcp://127\.0\.0\.1:1 cannot be reached"):
        on_cluster("tcp://127.0.0.1:1", "nowhere")


def test_certificates_that_cannot_be_read_are_told():
    with (
        dask.config.set(dict.fromkeys(CERTIFICATES, "nowhere.pem")),
        pytest.raises(ValueError, match=r"tls://host:1: the certificates of Dask \(nowhere\.pem\) cannot be read: "),
    ):
        on_cluster("tls://host:1", "nowhere")
