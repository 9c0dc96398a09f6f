package integration

import "github.com/sandbox-exec/sandbox-exec/internal/kerneltest"

// compatFile makes a directory with a file whose mode and times tell whether
// they were kept.
const compatFile = `umask 022; mkdir d && echo text >d/file && chmod 640 d/file && touch -d @1000000000 d/file && `

// metadataRows are programs that change modes, owners, times and attributes of
// what they make.
func metadataRows(program func(names ...string) []kerneltest.Feature) []compatRow {
	python := "/usr/bin/python3"
	return []compatRow{
		{"`git clone`, gc", program("git"), `export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000'
git init -q -b main repo && echo text >repo/file && chmod 755 repo/file && git -C repo add file && git -C repo -c user.name=n -c user.email=e@x commit -q -m first &&
git clone -q repo copy && git -C copy gc -q && git -C copy log --oneline && test -x copy/file && git -C copy status --short && cat copy/file`, nil, "", ""},
		{"`tar xp`", program("tar"), compatFile + `tar cf archive.tar d && mkdir out && tar xpf archive.tar -C out && stat -c '%a %Y' out/d/file`, nil, "", ""},
		{"`cp -a`", program("cp"), compatFile + `ln -s file d/link && touch -h -d @1000000000 d/link && cp -a d out && stat -c '%a %Y' out/file out/link`, nil, "", ""},
		{"`rsync -aX`", program("rsync", python), compatFile + `/usr/bin/python3 -c 'import os; os.setxattr("d/file", "user.kept", b"1")' && rsync -aX d/ out/ &&
/usr/bin/python3 -c 'import os; print(os.getxattr("out/file", "user.kept"))' && stat -c '%a %Y' out/file`, nil, "", ""},
		{"`install`", program("install"), compatFile + `install -m 751 -p -D d/file out/bin/file && stat -c '%a %Y' out/bin/file`, nil, "", ""},
		{"`touch`, `chmod -R`, `chown`", program("touch"), compatFile + `touch -r d/file new && chmod -R go-rwx d && chown -R "$(id -u):$(id -g)" d && stat -c '%a %Y' new d/file`, nil, "", ""},
		{"`gzip`", program("gzip"), compatFile + `gzip d/file && stat -c '%a %Y' d/file.gz && gunzip d/file.gz && stat -c '%a %Y' d/file`, nil, "", ""},
		{"`sed -i`", program("sed"), compatFile + `sed -i s/text/other/ d/file && cat d/file && stat -c %a d/file`, nil, "", ""},
		{"`setfacl`", program("setfacl"), compatFile + `setfacl -m u:1:r d/file && getfacl -cn d/file`, nil, "", ""},
		{"SQLite, write-ahead log", program("sqlite3"), `sqlite3 db 'pragma journal_mode=wal; create table t(n); insert into t values(1),(2);' && sqlite3 db 'update t set n = n + 1; select * from t;'`, nil, "", ""},
		{"Python `venv`", program(python), `/usr/bin/python3 -m venv --without-pip venv && venv/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'`, nil, "", ""},
		{"`pip install` of a local wheel", program("/usr/bin/pip3", python), `/usr/bin/python3 -c '
import zipfile
with zipfile.ZipFile("small-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("small.py", "two = 2\n")
    wheel.writestr("small-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1\n")
    wheel.writestr("small-1.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("small-1.dist-info/RECORD", "")' &&
/usr/bin/pip3 install -q --no-index --no-cache-dir --disable-pip-version-check --root-user-action ignore --target out ./small-1-py3-none-any.whl && PYTHONPATH=out /usr/bin/python3 -c 'import small; print(small.two)'`, nil, "", ""},
		{"`npm install` of a local tarball", program("npm", "node", "tar"), `mkdir package app && echo '{"name":"small","version":"1.0.0"}' >package/package.json && echo 'module.exports = 2' >package/index.js && tar czf small.tgz package &&
cd app && echo '{"name":"app","version":"1.0.0"}' >package.json && HOME=$PWD npm install --silent --offline --no-audit --no-fund --cache ../cache ../small.tgz && node -e 'console.log(require("small"))'`, nil, "", ""},
	}
}
