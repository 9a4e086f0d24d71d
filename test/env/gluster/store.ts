import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import type { RunningLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import {
  endNamespace,
  type Holder,
  runInside,
  startNamespace,
} from '#deploy/namespace/namespace.ts'
import { run } from '#drivers/run.ts'
import { giveGlusterPrograms } from './programs.ts'

const STEP_MS = 60_000
const UP_MS = 60_000
const BRIDGE = 'storage'
/** GlusterFS refuses an address of loopback for a brick. */
const NETWORK = '10.79.0'
const ADDRESS = `${NETWORK}.1`
const VOLUME = 'volumes'

/** What joins a host to the store. */
export interface StoreLine {
  /** Afterwards nothing comes through, and neither end is told. */
  cut(): Promise<void>
  mend(): Promise<void>
}

/** A GlusterFS with a volume `volumes` of one brick, in namespaces of its own. */
export interface GlusterStore extends AsyncDisposable {
  /** Of the server, for hosts that reach it. */
  readonly address: string
  /** What the volume has, past every client. */
  files(): Promise<readonly string[]>
  /** Afterwards the host reaches it, and can mount its volume. */
  reachFrom(host: RunningLibvirtHost): Promise<StoreLine>
  /** Ends the brick at once; its files stay. */
  killBrick(): Promise<void>
  /** Starts it again. */
  startBrick(): Promise<void>
}

/** `settings`: of the volume, names and values. All of GlusterFS is in namespaces of its own, and ends with them. */
export async function startGluster(settings: readonly string[]): Promise<GlusterStore> {
  await using owned = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'weir-gluster-'))
  owned.defer(() => rm(directory, { recursive: true, force: true }))
  const holder = await startNamespace()
  owned.defer(() => endNamespace(holder))
  const inside = (command: string, ...args: readonly string[]) =>
    runInside(holder, command, args, { timeoutMs: STEP_MS })
  const gluster = async (...args: readonly string[]) =>
    (await inside('gluster', '--mode=script', ...args)).stdout
  const brick = join(directory, 'brick')
  await startDaemon(holder, directory)
  await mkdir(brick)
  // Without `force` it refuses a brick in the file system of the machine.
  const brickName = `${ADDRESS}:${brick}`
  await gluster('volume', 'create', VOLUME, brickName, 'force')
  await gluster('volume', 'set', VOLUME, ...settings)
  await gluster('volume', 'start', VOLUME)
  const parts = owned.move()
  let hosts = 0
  return {
    address: ADDRESS,
    files: () => readdir(brick),
    async reachFrom(host) {
      hosts += 1
      const line = await joinBridge(holder, host, hosts)
      await giveGlusterPrograms(host, directory)
      return line
    },
    async killBrick() {
      await inside('sh', '-c', `kill -KILL $(cat /run/gluster/vols/${VOLUME}/*.pid)`)
    },
    async startBrick() {
      await gluster('volume', 'start', VOLUME, 'force')
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

/** Afterwards the daemon answers, with its state in `directory`. */
async function startDaemon(holder: Holder, directory: string): Promise<void> {
  const inside = (command: string, ...args: readonly string[]) =>
    runInside(holder, command, args, { timeoutMs: STEP_MS })
  await giveGlusterPrograms({ run: (...asked) => runInside(holder, ...asked) }, directory)
  await inside('mount', '-t', 'tmpfs', 'weir-gluster', '/run')
  await inside('mkdir', '/run/gluster')
  await inside('ip', 'link', 'set', 'lo', 'up')
  await inside('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
  await inside('ip', 'address', 'add', `${ADDRESS}/24`, 'dev', BRIDGE)
  await inside('ip', 'link', 'set', BRIDGE, 'up')
  const volfile = join(directory, 'glusterd.vol')
  const state = join(directory, 'state')
  await mkdir(state)
  await writeFile(volfile, volfileOf(state))
  await inside('glusterd', '--volfile', volfile)
  const answers = () =>
    inside('gluster', 'pool', 'list').then(
      () => true,
      () => false,
    )
  await waitFor('GlusterFS', answers, UP_MS)
}

function volfileOf(state: string): string {
  const options = {
    'working-directory': state,
    'transport-type': 'socket',
    'transport.socket.bind-address': ADDRESS,
  }
  const lines = Object.entries(options).map(([name, value]) => `  option ${name} ${value}`)
  return ['volume management', '  type mgmt/glusterd', ...lines, 'end-volume', ''].join('\n')
}

/** Afterwards the host has a line to the bridge, and the address of this number. */
async function joinBridge(
  holder: Holder,
  host: RunningLibvirtHost,
  number: number,
): Promise<StoreLine> {
  const ipIn = ({ pid }: Holder, ...args: readonly string[]) =>
    run('nsenter', ['--target', String(pid), '--net', 'ip', ...args], { timeoutMs: STEP_MS })
  const port = `port${number}`
  const setPort = async (...how: readonly string[]) =>
    void (await ipIn(holder, 'link', 'set', port, ...how))
  const peer = ['peer', 'name', BRIDGE, 'netns', String(host.holder.pid)]
  await ipIn(holder, 'link', 'add', port, 'type', 'veth', ...peer)
  await setPort('master', BRIDGE, 'up')
  await ipIn(host.holder, 'address', 'add', `${NETWORK}.${number + 1}/24`, 'dev', BRIDGE)
  await ipIn(host.holder, 'link', 'set', BRIDGE, 'up')
  return { cut: () => setPort('down'), mend: () => setPort('up') }
}
