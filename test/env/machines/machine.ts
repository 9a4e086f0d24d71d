import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { waitFor } from '#common/wait-for.ts'
import { type Holder, holdsNamespace, startNamespace } from '#deploy/namespace/namespace.ts'
import { programsDirectory, projectRoot } from '#deploy/paths.ts'

const LIMIT_MS = 30_000
const DEATH_MS = 30_000
const HERE = import.meta.dirname
const UNPACKED = ['usr/sbin', 'usr/bin', 'sbin'].map((each) => join(programsDirectory, each))
const PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
const ENV = {
  PATH: [...PATH, ...UNPACKED].join(':'),
  LD_LIBRARY_PATH: join(programsDirectory, 'usr/lib/x86_64-linux-gnu'),
  LC_ALL: 'C.UTF-8',
  HOME: '/root',
}

/** The result of a command on a machine. */
export interface Typed {
  readonly code: number | null
  readonly said: string
}

/** A network of machines, which this machine reaches too. Needs root. */
export class MachineNetwork implements AsyncDisposable {
  /** The first three numbers of every address. */
  readonly prefix = `10.78.${randomInt(1, 255)}`
  readonly directory = mkdtempSync(join(tmpdir(), 'weir-machines-'))
  readonly bridge = `wb${randomBytes(4).toString('hex')}`
  readonly #machines: Machine[] = []

  constructor() {
    ip('link', 'add', this.bridge, 'type', 'bridge')
    ip('addr', 'add', `${this.prefix}.254/24`, 'dev', this.bridge)
    ip('link', 'set', this.bridge, 'up')
  }

  /**
   * Afterwards there is a machine with this last number of its address. One that was there before, and was lost, has the data
   * that it had, and the settings that it had saved.
   */
  async add(last: number): Promise<Machine> {
    const machine = await Machine.start(this, last)
    this.#machines.push(machine)
    return machine
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const machine of this.#machines) await machine.lose()
    ip('link', 'del', this.bridge)
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Namespaces that stand for a machine: processes, mounts and a network of its own. */
export class Machine {
  readonly address: string
  readonly #holder: Holder
  readonly #shared: string

  private constructor(address: string, holder: Holder, shared: string) {
    this.address = address
    this.#holder = holder
    this.#shared = shared
  }

  static async start(network: MachineNetwork, last: number): Promise<Machine> {
    const holder = await startNamespace()
    const machine = new Machine(`${network.prefix}.${last}`, holder, network.directory)
    const wire = `wm${randomBytes(4).toString('hex')}`
    ip('link', 'add', wire, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(holder.pid))
    ip('link', 'set', wire, 'master', network.bridge, 'up')
    const folder = join(network.directory, String(last))
    const state = join(network.directory, `${last}-state`)
    const saved = join(network.directory, `${last}-saved`)
    mkdirSync(state, { recursive: true })
    mkdirSync(saved, { recursive: true })
    const prepare = [join(HERE, 'prepare.sh'), folder, projectRoot, programsDirectory]
    for (const line of [
      'ip link set lo up',
      'ip link set eth0 up',
      `ip addr add ${machine.address}/24 dev eth0`,
      [...prepare, join(HERE, 'systemctl')].join(' '),
      `mkdir -p /var/lib/weir && mount --bind ${state} /var/lib/weir`,
      `mkdir -p /run/saved && mount --bind ${saved} /run/saved && cp -a /run/saved/. /etc/`,
    ]) {
      const { code, said } = await machine.type(line)
      if (code !== 0) throw new Error(`${line}: ${said}`)
    }
    return machine
  }

  /** Runs a line of shell to its end, in the folder of the programs. */
  async type(line: string): Promise<Typed> {
    const child = this.begin(line)
    const [out, err] = [text(child.stdout!), text(child.stderr!)]
    const [code] = (await once(child, 'exit')) as [number | null]
    return { code, said: (await out) + (await err) }
  }

  /** The same, and does not wait for its end. */
  begin(line: string): ChildProcess {
    const { pid } = this.#holder
    const target = ['--target', String(pid), '--mount', '--net', '--uts', '--ipc']
    const inside = [...target, `--pid=/proc/${pid}/ns/pid_for_children`, '--wdns=/']
    const script = `cd /usr/lib/weir 2>/dev/null; ${line}`
    return spawn('nsenter', [...inside, '--', 'bash', '-c', script], {
      env: ENV,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  /** Afterwards this folder is the same at all machines of the network that share it. */
  async share(path: string): Promise<void> {
    const shared = join(this.#shared, path.replaceAll('/', '-'))
    mkdirSync(shared, { recursive: true })
    chmodSync(shared, 0o777)
    await this.type(`mkdir -p ${path} && mount --bind ${shared} ${path}`)
  }

  /** From now on the machine's settings outlive it, as those on a disk do. */
  async save(): Promise<void> {
    await this.type('cd /etc && cp -a --parents weir passwd group systemd/system /run/saved/')
  }

  /** Adds an address to this machine, and tells its neighbours. */
  async takeAddress(address: string): Promise<void> {
    await this.type(
      `ip addr add ${address}/32 dev eth0; arping -q -c 1 -U -I eth0 ${address} || true`,
    )
  }

  /** As by a loss of power: every process and its network are gone at once. */
  async lose(): Promise<void> {
    if (!(await holdsNamespace(this.#holder))) return
    process.kill(this.#holder.pid, 'SIGKILL')
    const isOver = async () => !(await holdsNamespace(this.#holder))
    await waitFor(`machine ${this.address} to be lost`, isOver, DEATH_MS)
  }
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { timeout: LIMIT_MS, stdio: 'pipe' })
}
