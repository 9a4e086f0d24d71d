import { OpenstackCli } from './openstack-cli.ts'
import type { LoadedCloud, Refused } from './steady-load.ts'

/** What one user types, in order; `NAME` is another name each time. */
const ROUND = [
  'network create NAME',
  'subnet create NAME --network NAME --subnet-range 10.98.0.0/24',
  'keypair create NAME',
  'volume create NAME --size 1',
  'server create NAME --flavor FLAVOR --image IMAGE --network NAME --key-name NAME --wait',
  'server stop NAME',
  'server show NAME',
  'server delete NAME --wait',
  'volume show NAME',
  'volume delete NAME',
  'keypair delete NAME',
  'network delete NAME',
]

/** A user of the unmodified `openstack` command, who types one line after the other until it is stopped. */
export class ClientCommands {
  readonly refused: Refused[] = []
  /** Commands that did what they should. */
  done = 0
  readonly #cli: OpenstackCli
  readonly #values: Readonly<Record<string, string>>
  readonly #startedAt = performance.now()
  readonly #work: Promise<void>
  #isOver = false

  /** `proxy`: the address of the cloud. */
  constructor({ foundation, catalog }: LoadedCloud, proxy: string) {
    this.#cli = new OpenstackCli(proxy, foundation.accounts.demo)
    this.#values = { FLAVOR: catalog.tiny, IMAGE: catalog.image }
    this.#work = this.#type()
  }

  /** Resolves once the round that has begun is typed to its end. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#work
  }

  /** A line that fails ends its round: the others need what it should have made. */
  async #type(): Promise<void> {
    for (let nth = 1; !this.#isOver; nth += 1) {
      const values: Readonly<Record<string, string>> = { ...this.#values, NAME: `typed-${nth}` }
      for (const line of ROUND)
        if (!(await this.#run(line.replaceAll(/[A-Z]{4,}/g, (word) => values[word] ?? word)))) break
    }
  }

  /** True for a command that did what it should. */
  async #run(line: string): Promise<boolean> {
    const at = Math.round((performance.now() - this.#startedAt) / 100) / 10
    try {
      await this.#cli.run(line)
      this.done += 1
      return true
    } catch (error) {
      this.refused.push({ at, what: `openstack ${line}`, how: String(error).slice(0, 500) })
      return false
    }
  }
}
