import { join } from 'node:path'
import type { InstanceId } from '#common/ids.ts'
import { openSerialConsole } from '../../ipmi/serial-console.ts'
import type { Node } from '../nodes/node.ts'
import { SerialLine } from './serial-line.ts'
import { SerialLog } from './serial-log.ts'

/** The serial consoles of the machines that servers have. */
export class SerialLines implements AsyncDisposable {
  readonly #folder: string
  readonly #lines = new Map<InstanceId, SerialLine>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Afterwards the machine's console is listened to. A machine without one stays silent. */
  start({ bmc, record: { instance } }: Node): void {
    if (bmc === undefined || instance === null || this.#lines.has(instance)) return
    const open = (signal: AbortSignal) => openSerialConsole(bmc, signal)
    this.#lines.set(instance, new SerialLine(open, this.log(instance)))
  }

  get(instance: InstanceId): SerialLine | undefined {
    return this.#lines.get(instance)
  }

  /** The output of the server's machine. */
  log(instance: InstanceId): SerialLog {
    return this.#lines.get(instance)?.log ?? new SerialLog(join(this.#folder, `${instance}.log`))
  }

  /** Afterwards the console is free, and what it wrote is kept. */
  async stop(instance: InstanceId): Promise<void> {
    const line = this.#lines.get(instance)
    this.#lines.delete(instance)
    await line?.[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#lines.keys()].map((instance) => this.stop(instance)))
  }
}
