package integration

import (
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// compatRow is ordinary work and what comes of it. The command runs in an empty
// directory: the scratch directory in read-only, the workspace otherwise.
type compatRow struct {
	name    string
	needs   []kerneltest.Feature
	command string
	fails   []policy.Mode
	note    string // why it fails
	ipc     policy.IPC
}

const (
	compatSemaphore = "its lock is a POSIX semaphore, a file in `/dev/shm`, which all processes of the user share; threads alone and `concurrent.futures` need none"
	compatPool      = `/usr/bin/python3 -c '
from multiprocessing.pool import ThreadPool
with ThreadPool(4) as pool: print(pool.map(str, range(9)))'`
)

func compatRows() []compatRow {
	program := func(names ...string) (list []kerneltest.Feature) {
		for _, name := range names {
			list = append(list, kerneltest.Program(name))
		}
		return list
	}
	python := program("/usr/bin/python3")
	return append(metadataRows(program), []compatRow{
		{"Python `threading`", python, `/usr/bin/python3 -c '
import threading
seen = []
threads = [threading.Thread(target=seen.append, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(seen))'`, nil, "", ""},
		{"Python `concurrent.futures`", python, `/usr/bin/python3 -c '
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool: print(list(pool.map(str, range(9))))'`, nil, "", ""},
		{"Python `multiprocessing.pool.ThreadPool`", python, compatPool, compatModes, compatSemaphore, ""},
		{"the same with `--ipc host`", python, compatPool, nil, "", policy.IPCHost},
		{"Python `asyncio.run_coroutine_threadsafe`", python, `/usr/bin/python3 -c '
import asyncio, threading
loop = asyncio.new_event_loop()
thread = threading.Thread(target=loop.run_forever)
thread.start()
async def answer():
    await asyncio.sleep(0.01)
    return 42
print(asyncio.run_coroutine_threadsafe(answer(), loop).result(5))
loop.call_soon_threadsafe(loop.stop)
thread.join()'`, nil, "", ""},
		{"Python `asyncio` subprocess", python, `/usr/bin/python3 -c '
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    print(await p.communicate(), p.returncode)
asyncio.run(main())'`, nil, "", ""},
		{"Python `subprocess`", python, `/usr/bin/python3 -c '
import subprocess
print(subprocess.run(["sort"], input="b\na\n", capture_output=True, text=True, check=True).stdout)'`, nil, "", ""},
		{"Node `worker_threads`", program("node"), `node -e '
const { Worker } = require("worker_threads")
const w = new Worker("require(\"worker_threads\").parentPort.postMessage(6 * 7)", { eval: true })
w.on("message", n => console.log(n))
w.on("error", e => { console.error(e); process.exit(1) })'`, nil, "", ""},
		{"Node `execSync`", program("node"), `node -e 'console.log(require("child_process").execSync("echo child").toString())'`, nil, "", ""},
		{"`java -version`", program("java"), "java -version 2>&1", nil, "", ""},
		{"Java, one class", program("java", "javac"), `echo 'class Hello { public static void main(String[] a) throws Exception {
	Thread t = new Thread(() -> System.out.println("hello")); t.start(); t.join(); } }' >Hello.java && javac Hello.java && java Hello`, nil, "", ""},
		{"`cargo build`, offline", program("cargo", "gcc"), "cargo new --quiet --vcs none hello && cd hello && cargo build --quiet --offline && test -s target/debug/hello && echo built", nil, "", ""},
		{"`go build` of a small module", program("go"), `export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOTELEMETRY=off && mkdir small && cd small
printf 'module small\n' >go.mod && printf 'package small\n\nfunc Two() int { return 2 }\n' >small.go && go build ./... && echo built`, nil, "", ""},
		{"`git` init, add, commit, log, worktree", program("git"), `export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000'
git init -q -b main repo && cd repo && echo text >file && git add file &&
git -c user.name=n -c user.email=e@x commit -q -m first && git log --oneline && git worktree add -q ../tree && cat ../tree/file`, nil, "", ""},
		{"`gdb` on an own child", program("gdb"), `gdb -nx -batch -ex 'set startup-with-shell off' -ex 'break exit' -ex run -ex 'print 6*7' --args /bin/true 2>&1 | grep '= 42'`, nil, "", ""},
		{"`strace` on an own child", program("strace"), `strace -f -o trace sh -c 'true; exec true' && grep -c execve trace`, nil, "", ""},
		{"`sort` with temporary files", program("sort"), "seq 100000 | sort -S 100K -r >out && head -n 1 out", nil, "", ""},
		{"`xz -T2`", program("xz"), "head -c 4000000 /dev/zero | xz -0 -T2 --block-size=1MiB | xz -dc | wc -c", nil, "", ""},
		{"`tar c`", program("tar"), "mkdir d && echo text >d/file && tar cf archive.tar d && tar tf archive.tar", nil, "", ""},
		{"`tar x`", program("tar"), "mkdir d out && echo text >d/file && tar cf archive.tar d && tar xf archive.tar -C out && cat out/d/file", nil, "", ""},
		{"`make -j2`", program("make"), `printf 'all: a b\n\t@cat a b\na b:\n\t@echo $@ >$@\n' >Makefile && make --no-print-directory -j2`, nil, "", ""},
		{"`gcc`, and its program", program("gcc"), `echo 'int main(void) { return 0; }' >main.c && gcc -o main main.c && ./main && echo ran`, nil, "", ""},
		{"`gcc -c`", program("gcc"), `echo 'int main(void) { return 0; }' >main.c && gcc -c main.c && test -s main.o && echo compiled`, nil, "", ""},
	}...)
}
