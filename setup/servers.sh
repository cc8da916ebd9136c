#!/usr/bin/env bash
# Installs an S3 server (Ceph's RGW), a container registry, Slurm, an ssh server and two shells for the tests. Without them, their tests are skipped.
# The tests start and stop their own servers on loopback. The packages' services are neither started nor enabled.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

all_here() { local name; for name in "$@"; do command -v "$name" >/dev/null || return 1; done; }

# Debian runs this file before it starts a service. If an administrator has written one, it is not changed.
policy=/usr/sbin/policy-rc.d
start_no_services() {
    [ ! -e "$policy" ] || return 0
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
}

# install WHAT UNITS PACKAGE... -- PROGRAM...
install() {
    local what=$1 units=$2 packages=(); shift 2
    while [ "$1" != -- ]; do packages+=("$1"); shift; done
    shift
    all_here "$@" && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "Installing $what"
        start_no_services
        if apt_install "${packages[@]}" </dev/null && all_here "$@"; then
            # shellcheck disable=SC2086 # several units
            systemctl disable $units >/dev/null 2>&1 || true
            return
        fi
    fi
    say "No $what: the tests that need it will be skipped"
}

install "S3 server (radosgw)" "ceph.target ceph-mon.target ceph-osd.target ceph-radosgw.target" \
    radosgw ceph-mon ceph-osd -- radosgw radosgw-admin ceph-mon ceph-osd monmaptool ceph
install "container registry (docker-registry)" docker-registry.service docker-registry -- docker-registry
install "Slurm (slurmctld, slurmd, munged)" "slurmctld slurmd munge" slurmctld slurmd slurm-client munge -- slurmctld slurmd munged sbatch
install "ssh server (sshd)" ssh.service openssh-server -- sshd ssh-keygen
install "shells (zsh, fish)" "" zsh fish -- zsh fish
