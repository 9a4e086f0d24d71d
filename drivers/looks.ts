import { abortable } from './abortable.ts'

/**
 * Looks at things that may not answer, such as file systems of a network. There is one look at a thing at a time, which all
 * who ask share: a look at a file system that hangs binds a thread of this process until it answers.
 */
export class Looks<T> {
  readonly #look: (key: string) => Promise<T>
  readonly #waitMs: number
  readonly #looks = new Map<string, Promise<T>>()

  constructor(look: (key: string) => Promise<T>, waitMs: number) {
    this.#look = look
    this.#waitMs = waitMs
  }

  /** Throws what the look throws, and a `TimeoutError` if it takes too long. */
  at(key: string, signal: AbortSignal): Promise<T> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(this.#waitMs)])
    return abortable(this.#looks.get(key) ?? this.#begin(key), deadline)
  }

  #begin(key: string): Promise<T> {
    const look = this.#look(key)
    this.#looks.set(key, look)
    const end = () => void this.#looks.delete(key)
    look.then(end, end)
    return look
  }
}
