import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceReport } from '../driver.ts'
import type { FakeGuest } from './guest.ts'
import { GuestJournal } from './guest-journal.ts'

/** The guests of one fake host, and the listeners to their changes. */
export class FakeGuests implements Disposable {
  readonly #guests: Map<InstanceId, FakeGuest>
  readonly #journal: GuestJournal | undefined
  readonly #listeners = new Set<(report: InstanceReport) => void>()

  /** With a folder the guests outlive the process; without one they are in memory only. */
  constructor(folder?: string) {
    const opened = folder === undefined ? undefined : GuestJournal.open(folder)
    this.#guests = opened?.guests ?? new Map()
    this.#journal = opened?.journal
  }

  find(id: InstanceId): FakeGuest | undefined {
    return this.#guests.get(id)
  }

  get(id: InstanceId): FakeGuest {
    const guest = this.#guests.get(id)
    if (guest === undefined)
      throw new Failure('not-found', `Instance ${id} could not be found on this host.`)
    return guest
  }

  all(): readonly FakeGuest[] {
    return [...this.#guests.values()]
  }

  put(guest: FakeGuest): void {
    const before = this.#guests.get(guest.id)?.powerState
    this.putUnseen(guest)
    if (before !== guest.powerState) this.#report({ id: guest.id, powerState: guest.powerState })
  }

  /** As `put`, without notifying listeners. */
  putUnseen(guest: FakeGuest): void {
    this.#guests.set(guest.id, guest)
    this.#journal?.append({ put: guest }, this.#guests)
  }

  remove(id: InstanceId): void {
    const guest = this.#guests.get(id)
    if (!this.#guests.delete(id)) return
    this.#journal?.append({ gone: id }, this.#guests)
    if (guest?.powerState !== 'shutdown') this.#report({ id, powerState: 'shutdown' })
  }

  listen(listener: (report: InstanceReport) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  [Symbol.dispose](): void {
    this.#listeners.clear()
    this.#journal?.[Symbol.dispose]()
  }

  #report(report: InstanceReport): void {
    for (const listener of this.#listeners) listener(report)
  }
}
