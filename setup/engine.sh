#!/usr/bin/env bash
# Makes sure that a Docker engine answers. Exit status 3: none can be had here; the `process` driver still works.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

answers() { "${PYTHON:-python3}" setup/engine.py ping; }

no_docker() {
    say "No Docker engine: $*. Going on with the process driver (no isolation)."
    exit "$NO_DOCKER"
}

[ "${LAMBENCH_NO_DOCKER:-}" = "" ] || no_docker "LAMBENCH_NO_DOCKER is set"
answers && exit 0
[ "${DOCKER_HOST:-}" = "" ] || no_docker "DOCKER_HOST=$DOCKER_HOST does not answer"

exec 9>"$CACHE/engine.lock"
flock 9 # two clones at once must not start two engines
answers && exit 0
if ! command -v dockerd >/dev/null; then
    [ "$(id -u)" = 0 ] || no_docker "it is not installed, and only root may install it"
    say "Installing Docker (docker.io, iptables)"
    apt_install docker.io iptables || no_docker "apt-get could not install docker.io"
fi
[ "$(id -u)" = 0 ] || no_docker "it does not answer, and only root may start it"
# After a machine was stopped hard a pid file may name what is another program by now: dockerd would wait for it.
forget_stale() {
    [ -f "$1" ] || return 0
    [ "$(cat "/proc/$(cat "$1")/comm" 2>/dev/null)" = "$2" ] || rm -f "$1"
}
# One that is only just starting counts: there must never be two.
if ! answers && ! grep -qsx dockerd /proc/[0-9]*/comm; then
    forget_stale /var/run/docker.pid dockerd
    forget_stale /var/run/docker/containerd/containerd.pid containerd
    say "Starting dockerd (its log: $CACHE/dockerd.log)"
    setsid dockerd >"$CACHE/dockerd.log" 2>&1 </dev/null 9>&- &
fi
for _ in $(seq 60); do
    answers && exit 0
    sleep 0.5
done
no_docker "dockerd does not answer after 30 s; its last words: $(tail -n 1 "$CACHE/dockerd.log" 2>/dev/null)"
