import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { TestBmc } from '../../ipmi/testing/test-bmc.ts'
import type { TestCommand } from '../../ipmi/testing/test-message.ts'
import type { NewNode } from '../../nodes.ts'

const CHASSIS = 0x00
const STATUS = 0x01
const CONTROL = 0x02
const SET_BOOT_OPTIONS = 0x08
const BOOT_FLAGS = 5
const NETWORK = 0x04
const DEVICES = 0x3c
const PERSISTENT = 0x40
const UNKNOWN = 0xc1
const NO_PRIVILEGE = 0xd4
const LOST_FOR_GOOD = Number.POSITIVE_INFINITY
const DISK_BYTES = 4 * 1024 ** 3

const ASK_AGAIN_MS = 100

type Ask = (url: string, init?: RequestInit) => Promise<Response>

/** A machine in this process, behind a BMC in it, to which things happen while it works in the ramdisk. */
export class TestMachine implements AsyncDisposable {
  readonly #bootUrl: string
  readonly #macAddress: string
  #bmc: TestBmc | undefined
  #bootsFromNetwork = false
  #isPersistent = false
  #boots = 0
  isOn = false
  /** What its power goes to besides; it is off once this has resolved. */
  whenOff: (() => Promise<void>) | undefined
  /** Its BMC's user may look, and switch nothing. */
  isReadOnly = false
  /** What its disk begins with; empty while it is clean. */
  disk: Buffer = Buffer.alloc(0)
  /** The script it received when it last booted from the network. */
  script = ''
  /** Further data written over its disk, by offset in bytes. */
  readonly patches = new Map<number, Buffer>()
  /** True: its disk loses all writes, as a broken disk does. */
  garbles = false
  /** Its NICs besides the one that it boots by. */
  furtherMacs: readonly string[] = []
  /** Tasks that it was given, by kind. */
  readonly tasks: string[] = []
  /** What happens instead of a task: `false` leaves it undone and says nothing, a text is why it failed. */
  instead: (task: string) => boolean | string = () => true

  private constructor(bootUrl: string, macAddress: string) {
    this.#bootUrl = bootUrl
    this.#macAddress = macAddress
  }

  static async start(bootUrl: string, macAddress: string): Promise<TestMachine> {
    const machine = new TestMachine(bootUrl, macAddress)
    machine.#bmc = await TestBmc.start({
      suites: [17],
      user: 'admin',
      password: 'secret',
      answer: (command) => machine.#answer(command),
    })
    return machine
  }

  get enrolment(): NewNode {
    const bmc = {
      address: '127.0.0.1',
      port: this.#bmc!.port,
      user: 'admin',
      password: 'secret',
      privilege: 'administrator',
      cipherSuite: 17,
    } as const
    return { name: 'machine', macAddress: this.#macAddress, usesEfi: false, bmc }
  }

  /** Afterwards the BMC is silent, or answers again, having forgotten everybody. */
  silence(isSilent: boolean): void {
    this.#bmc!.forgetSessions()
    this.#bmc!.loses = isSilent ? LOST_FOR_GOOD : 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isOn = false
    this.#bmc?.[Symbol.dispose]()
  }

  #answer({ netFunction, code, data }: TestCommand): readonly number[] {
    if (netFunction !== CHASSIS) return [UNKNOWN]
    if (code === STATUS) return [0, this.isOn ? 1 : 0, 0, 0]
    if (this.isReadOnly) return [NO_PRIVILEGE]
    if (code === CONTROL) {
      this.#switch(data[0] ?? 0)
      return [0]
    }
    if (code !== SET_BOOT_OPTIONS) return [UNKNOWN]
    if (data[0] === BOOT_FLAGS) {
      this.#bootsFromNetwork = ((data[2] ?? 0) & DEVICES) === NETWORK
      this.#isPersistent = ((data[1] ?? 0) & PERSISTENT) !== 0
    }
    return [0]
  }

  /** IPMI 2.0, 28.3: 0 and 5 are off, the others on. */
  #switch(action: number): void {
    this.#boots += 1
    const isOff = action === 0 || action === 5
    if (isOff && this.whenOff !== undefined) {
      void this.whenOff().then(() => {
        this.isOn = false
      })
      return
    }
    this.isOn = !isOff
    if (!this.isOn || !this.#bootsFromNetwork) return
    this.#bootsFromNetwork = this.#isPersistent
    void this.#boot(this.#boots).catch(() => undefined)
  }

  async #boot(boot: number): Promise<void> {
    const ask: Ask = (path, init) => asked(path, init, () => this.isOn && boot === this.#boots)
    const asIpxe = await ask(`${this.#bootUrl}/boot.ipxe?mac=${this.#macAddress}`)
    const script = await asIpxe.text()
    const parameter = (name: string) => script.split(`weir.${name}=`)[1]?.split(/\s/)[0]
    const [task, url] = [parameter('task'), parameter('url')]
    this.script = script
    if (task === undefined || url === undefined) return
    const patches = parameter('patches')?.split(',') ?? []
    this.tasks.push(task)
    const outcome = this.instead(task)
    if (outcome === false || boot !== this.#boots) return
    const body = outcome === true ? await this.#perform(ask, task, url, patches) : outcome
    await ask(`${url}/${outcome === true ? 'done' : 'failed'}`, { method: 'POST', body })
  }

  async #perform(ask: Ask, task: string, url: string, patches: readonly string[]): Promise<string> {
    const bytes = async (path: string) => Buffer.from(await (await ask(path)).arrayBuffer())
    if (task === 'inspect') {
      const macs = [this.#macAddress, ...this.furtherMacs].map((mac) => `mac ${mac}`)
      const parts = ['cpus 4', 'cpu-model test', 'architecture x86_64', 'memory-kib 8388608']
      return [...parts, `disk sda ${DISK_BYTES}`, ...macs].join('\n')
    }
    this.patches.clear()
    this.disk = task === 'write' ? await bytes(`${url}/image`) : Buffer.alloc(0)
    if (this.garbles) this.disk.fill(0)
    for (const [nth, patch] of patches.entries())
      this.patches.set(Number(patch.split(':')[0]), await bytes(`${url}/patches/${nth}`))
    return [this.disk, ...this.patches.values()].map(sha256Of).join('\n')
  }
}

function sha256Of(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/** As a machine's programs do, asks again where no connection comes about, while somebody waits for the answer. */
async function asked(
  url: string,
  init: RequestInit | undefined,
  isWanted: () => boolean,
): Promise<Response> {
  for (;;) {
    try {
      return await fetch(url, init)
    } catch (error) {
      if (!isWanted()) throw error
      await sleep(ASK_AGAIN_MS)
    }
  }
}
