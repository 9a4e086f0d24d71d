import { createHash } from 'node:crypto'
import { Failure, isFailure } from '#common/errors.ts'
import type { Sample } from '../formats/format.ts'
import type { ContentStore, Incoming, Part, StoredContent } from './content-store.ts'

/**
 * A store that takes over the contents of a former one: new ones go to the new store, and each round of `settle` moves some
 * of the others there. Until then a content is read where it is. Several gateways may move at the same time.
 */
export class MovingStore implements ContentStore {
  readonly #from: ContentStore
  readonly #to: ContentStore

  /** Both are this store's from then on. */
  constructor(from: ContentStore, to: ContentStore) {
    this.#from = from
    this.#to = to
  }

  receive(): Promise<Incoming> {
    return this.#to.receive()
  }

  async read(sha256: string, part?: Part): Promise<StoredContent> {
    return (await this.#former((from) => from.read(sha256, part))) ?? this.#to.read(sha256, part)
  }

  async sample(sha256: string): Promise<Sample> {
    return (await this.#former((from) => from.sample(sha256))) ?? this.#to.sample(sha256)
  }

  async directUrl(sha256: string, seconds: number): Promise<string | undefined> {
    const isFormer = (await this.#former((from) => from.sample(sha256))) !== undefined
    return isFormer ? undefined : this.#to.directUrl(sha256, seconds)
  }

  async remove(sha256: string): Promise<void> {
    await this.#to.remove(sha256)
    await this.#from.remove(sha256)
  }

  async *stored(olderThan: Date): AsyncGenerator<string> {
    yield* this.#from.stored(olderThan)
    yield* this.#to.stored(olderThan)
  }

  async removeAbandoned(olderThan: Date): Promise<number> {
    const former = await this.#from.removeAbandoned(olderThan)
    return former + (await this.#to.removeAbandoned(olderThan))
  }

  /**
   * Moves the contents that were in the former store before `olderThan`; the answer is how many. One that cannot be moved
   * does not keep the others; its failure is thrown at the end.
   */
  async settle(olderThan: Date, signal: AbortSignal): Promise<number> {
    let moved = 0
    let failure: Failure | undefined
    for await (const sha256 of this.#from.stored(olderThan)) {
      signal.throwIfAborted()
      try {
        await this.#move(sha256)
        moved += 1
      } catch (error) {
        if (!isFailure(error)) throw error
        failure = error
      }
    }
    if (failure !== undefined) throw failure
    return moved
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#from[Symbol.asyncDispose]()
    await this.#to[Symbol.asyncDispose]()
  }

  async #move(sha256: string): Promise<void> {
    await using incoming = await this.#to.receive()
    const hash = createHash('sha256')
    const { stream } = await this.#from.read(sha256)
    for await (const chunk of stream) {
      hash.update(chunk)
      await incoming.write(chunk)
    }
    if (hash.digest('hex') !== sha256)
      throw new Failure('unavailable', 'An image content is damaged and was not moved.', {
        detail: `the file ${sha256} has another digest`,
      })
    await incoming.flush(sha256)
    await incoming.keep(sha256)
    await this.#from.remove(sha256)
  }

  /** What the former store has; undefined where it does not have it. */
  async #former<T>(ask: (from: ContentStore) => Promise<T>): Promise<T | undefined> {
    try {
      return await ask(this.#from)
    } catch (error) {
      if (isFailure(error, 'unavailable')) return undefined
      throw error
    }
  }
}
