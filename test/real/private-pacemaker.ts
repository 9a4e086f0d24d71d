import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { programsDirectory } from '#deploy/paths.ts'
import { programPath } from '#deploy/process/find-program.ts'
import { run } from '#drivers/run.ts'

const READY_MS = 30_000
const ASK_MS = 20_000

/** A cluster of one member, with the fencer of Pacemaker and nothing else of it. */
const COROSYNC = `totem {
  version: 2
  cluster_name: weir
  transport: udpu
  crypto_cipher: none
  crypto_hash: none
}
nodelist {
  node {
    ring0_addr: 127.0.0.1
    name: here
    nodeid: 1
  }
}
quorum {
  provider: corosync_votequorum
}
logging {
  to_stderr: yes
  to_syslog: no
}
`

export interface PrivatePacemaker extends AsyncDisposable {
  /** Has `stonith_admin`, which asks this cluster. */
  readonly directory: string
  /** Afterwards the cluster fences the node by this agent. */
  register(node: string, agent: string, options: Readonly<Record<string, string>>): Promise<void>
}

/** In a network and mounts of its own, with files in `directory`. Needs root. */
export async function startPacemaker(directory: string): Promise<PrivatePacemaker> {
  const file = (name: string, content: string, mode = 0o644) => {
    const path = join(directory, name)
    writeFileSync(path, content, { mode })
    return path
  }
  const added = (path: string, line: string) => `${readFileSync(path, 'utf8').trimEnd()}\n${line}\n`
  const passwd = file('passwd', added('/etc/passwd', 'hacluster:x:889:889::/:/usr/sbin/nologin'))
  const group = file('group', added('/etc/group', 'haclient:x:889:'))
  const config = file('corosync.conf', COROSYNC)
  const fencer = join(programsDirectory, 'usr/lib/pacemaker/pacemaker-fenced')
  const start = file(
    'start',
    `set -e
ip link set lo up
mount --bind ${passwd} /etc/passwd
mount --bind ${group} /etc/group
mount -t tmpfs tmpfs /var/lib
mkdir -p /var/lib/corosync /var/lib/pacemaker/cores
chown -R 889:889 /var/lib/pacemaker
${programPath('corosync')} -f -c ${config} > ${directory}/corosync.log 2>&1 &
sleep 2
${fencer} -c -l ${directory}/fencer.log > ${directory}/fencer.out 2>&1 &
wait
`,
  )
  const child = spawn('unshare', ['-n', '-m', 'sh', start], { stdio: 'ignore', detached: true })
  const spaces = `--net=/proc/${child.pid}/ns/net --mount=/proc/${child.pid}/ns/mnt`
  const admin = file(
    'stonith_admin',
    `#!/bin/sh\nexec nsenter ${spaces} ${programPath('stonith_admin')} "$@"\n`,
    0o755,
  )
  const ask = (args: readonly string[]) => run(admin, args, { timeoutMs: ASK_MS })
  try {
    await waitFor(
      'the fencer',
      () =>
        ask(['-L']).then(
          () => true,
          () => false,
        ),
      READY_MS,
    )
  } catch (error) {
    await end(child)
    throw error
  }
  return {
    directory,
    register: async (node, agent, options) => {
      const all = { pcmk_host_list: node, ...options }
      const given = Object.entries(all).flatMap(([key, value]) => ['-o', `${key}=${value}`])
      await ask(['-R', `of-${node}`, '-a', agent, ...given])
    },
    [Symbol.asyncDispose]: () => end(child),
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  process.kill(-child.pid!, 'SIGKILL')
  await ended
}
