import type { OperationId } from '#common/ids.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'
import { DurableLines } from './durable-lines.ts'

export interface OperationMemoryOptions {
  readonly file: string
  /** The oldest are forgotten beyond so many; absent: 10,000. */
  readonly operationsMax?: number
}

const OPERATIONS_MAX = 10_000

interface Remembered {
  readonly id: OperationId
  readonly answer: HostAnswer
}

/**
 * The outcomes of the last operations of this host, on its own disk. A cell whose database was restored from a time
 * before the answer repeats an operation; the host then gives the same answer and does nothing.
 */
export class OperationMemory implements AsyncDisposable {
  /** Oldest first. */
  readonly #answers: Map<OperationId, HostAnswer>
  readonly #operationsMax: number
  readonly #lines: DurableLines

  private constructor(
    answers: Map<OperationId, HostAnswer>,
    operationsMax: number,
    lines: DurableLines,
  ) {
    this.#answers = answers
    this.#operationsMax = operationsMax
    this.#lines = lines
  }

  static async open({
    file,
    operationsMax = OPERATIONS_MAX,
  }: OperationMemoryOptions): Promise<OperationMemory> {
    const answers = new Map<OperationId, HostAnswer>()
    const options = {
      file,
      kept: () => [...answers].map(([id, answer]) => JSON.stringify({ id, answer })),
      compactAfterLines: 2 * operationsMax,
      // A sync per operation would slow every boot: it takes a power cut within seconds, and a restore, to miss one.
      isSynced: false,
    }
    const lines = await DurableLines.open(options, (line) => {
      const entry = parseLine(line)
      if (entry !== undefined) put(answers, entry, operationsMax)
    })
    return new OperationMemory(answers, operationsMax, lines)
  }

  /** Undefined for an operation that was never answered, or so long ago that it is forgotten. */
  answerOf(id: OperationId): HostAnswer | undefined {
    return this.#answers.get(id)
  }

  /** Afterwards the answer outlives this process. */
  async keep(id: OperationId, answer: HostAnswer): Promise<void> {
    const entry = { id, answer }
    await this.#lines.append(JSON.stringify(entry), () =>
      put(this.#answers, entry, this.#operationsMax),
    )
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#lines[Symbol.asyncDispose]()
  }
}

/** A Map keeps insertion order, so its first entry is the oldest. */
function put(
  answers: Map<OperationId, HostAnswer>,
  { id, answer }: Remembered,
  operationsMax: number,
): void {
  answers.set(id, answer)
  if (answers.size <= operationsMax) return
  const [oldest] = answers.keys()
  answers.delete(oldest!)
}

/** A crash while writing tears the last line: its answer was not given. */
function parseLine(line: string): Remembered | undefined {
  try {
    return JSON.parse(line) as Remembered
  } catch {
    return undefined
  }
}
