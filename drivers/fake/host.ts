import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { UnmanagedGuest } from '../adopt.ts'
import type { DriverEnvironment } from '../driver.ts'
import type { ImageCopy } from '../image-copies.ts'
import { InstanceLocks } from '../instance-locks.ts'
import { Keyring } from '../keyring.ts'
import { VolumeCopies } from '../volume-copies.ts'
import { Faults, FaultsFile, type FaultTarget, type FaultyMethod } from './faults.ts'
import { withEvent } from './guest.ts'
import { FakeGuests } from './guests.ts'
import type { FakeSettings } from './settings.ts'
import { VolumeFolder } from './volume-folder.ts'

export type FakeEnvironment = Pick<DriverEnvironment, 'owner' | 'stateDirectory'>

const GIB = 1024 ** 3

/** A guest of no owner. */
export interface PlantedGuest extends UnmanagedGuest {
  /** For each vCPU the NUMA node of the host to which it is bound; absent: none. */
  readonly hostNodes?: readonly number[]
}

/** The state that every operation of the fake driver uses. */
export class FakeHost {
  readonly settings: FakeSettings
  readonly guests: FakeGuests
  readonly faults: Faults
  readonly locks = new InstanceLocks()
  /** Guests of no owner. */
  readonly unmanagedGuests = new Map<InstanceId, PlantedGuest>()
  /** Images it has made guests from, by their SHA-256. */
  readonly images = new Map<string, ImageCopy>()
  /** Guests whose writes are noted. */
  readonly noted = new Set<InstanceId>()
  readonly incoming: IncomingGuests
  /** Guests that are being sent, each with what calls it off. */
  readonly leaving = new Map<InstanceId, AbortController>()
  /** Undefined: it has no volumes, because it keeps nothing. */
  readonly volumeFolder: VolumeFolder | undefined
  readonly volumeCopies: VolumeCopies
  readonly keyring = new Keyring()
  readonly #faultsFile: FaultsFile | undefined

  constructor({ stateDirectory, owner }: FakeEnvironment, settings: FakeSettings) {
    this.settings = settings
    const kept = settings.persist ? stateDirectory : undefined
    this.guests = new FakeGuests(kept)
    this.incoming = new IncomingGuests(kept)
    const { volumeStore = kept && join(kept, 'volumes'), volumeStoreGb } = settings
    this.volumeCopies = new VolumeCopies(join(stateDirectory, 'volume-copies'))
    if (volumeStore !== undefined)
      this.volumeFolder = new VolumeFolder(volumeStore, owner, {
        totalBytes: volumeStoreGb * GIB,
        keyring: this.keyring,
      })
    this.faults = new Faults(settings.faults)
    if (settings.faultsFile !== undefined) this.#faultsFile = new FaultsFile(settings.faultsFile)
  }

  /**
   * Does `work` with the faults that are due. An ordered failure replaces the work, but `unavailable` follows it: there
   * the answer is lost.
   */
  async faulty<T>(
    method: FaultyMethod,
    target: FaultTarget | undefined,
    signal: AbortSignal,
    work: () => T,
  ): Promise<T> {
    this.#faultsFile?.refresh(this.faults)
    const failure: Failure | undefined = await this.faults.strike(method, target, signal)
    if (failure !== undefined && failure.kind !== 'unavailable') throw failure
    const result = work()
    if (failure !== undefined) throw failure
    return result
  }

  /** As `change`, for what takes a real host long: a destroy ends it. */
  async changeSlowly<T>(
    method: FaultyMethod,
    id: InstanceId,
    signal: AbortSignal,
    work: () => T,
  ): Promise<T> {
    return this.locks.runPreemptible(id, signal, (lockSignal) =>
      this.faulty(method, this.target(id), lockSignal, work),
    )
  }

  /** As `faulty`, about one instance, with no other change to that instance at the same time. */
  async change(
    method: FaultyMethod,
    id: InstanceId,
    signal: AbortSignal,
    work: () => void,
  ): Promise<void> {
    await this.locks.run(id, signal, () => this.faulty(method, this.target(id), signal, work))
  }

  target(id: InstanceId): FaultTarget {
    return this.guests.find(id) ?? { id, displayName: '' }
  }

  /** Afterwards every guest is off. Listeners are not notified: a host that lost power has none. */
  lose(): void {
    for (const guest of this.guests.all())
      if (guest.powerState !== 'shutdown')
        this.guests.putUnseen({ ...guest, powerState: 'shutdown', endedWithHost: true })
  }

  /** Afterwards the guest is in this state, and its console says why. Throws `conflict` for one that cannot open its volumes. */
  setPower(id: InstanceId, state: PowerState, line: string): void {
    if (state === 'running')
      for (const volume of this.guests.get(id).volumes ?? []) this.volumeFolder?.unlock(volume.id)
    this.guests.put(withEvent(this.guests.get(id), state, line))
  }
}

const FOLDER = 'incoming'

/** Guests that are about to arrive. They belong to the backend, so they outlive the process if the guests do. */
class IncomingGuests {
  readonly #bytes = new Map<InstanceId, Buffer>()
  readonly #folder: string | undefined

  /** Without a state directory it is in memory only. */
  constructor(stateDirectory?: string) {
    if (stateDirectory === undefined) return
    this.#folder = join(stateDirectory, FOLDER)
    mkdirSync(this.#folder, { recursive: true })
    for (const id of readdirSync(this.#folder) as InstanceId[])
      this.#bytes.set(id, readFileSync(join(this.#folder, id)))
  }

  get(id: InstanceId): Buffer | undefined {
    return this.#bytes.get(id)
  }

  set(id: InstanceId, bytes: Buffer): void {
    this.#bytes.set(id, bytes)
    if (this.#folder !== undefined) writeFileSync(join(this.#folder, id), bytes)
  }

  delete(id: InstanceId): void {
    if (!this.#bytes.delete(id) || this.#folder === undefined) return
    rmSync(join(this.#folder, id), { force: true })
  }
}
