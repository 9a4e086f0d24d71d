import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { UnmanagedGuest } from '#drivers/adopt.ts'
import type { FakeDriver } from '#drivers/fake/driver.ts'
import type { Fault } from '#drivers/fake/faults.ts'
import type { FakeAttachment } from '#drivers/fake/guest.ts'
import type { CloudProcess } from './cloud-process.ts'
import type { HostPlan } from './foundation.ts'

const LIST_LIMIT_MS = 30_000

/** A simulated host of the cloud: its compute, and what a test can do to its backend. */
export class CloudHost {
  readonly id: string
  readonly name: string
  readonly process: CloudProcess
  #driver: FakeDriver | undefined

  constructor(plan: HostPlan, process: CloudProcess) {
    this.id = plan.id
    this.name = plan.name
    this.process = process
  }

  /** The backend is a new one each time the compute starts. */
  set driver(driver: FakeDriver) {
    this.#driver = driver
  }

  /** Replaces all faults of the backend; none makes it well again. */
  fail(...faults: readonly Fault[]): void {
    this.#backend().faults.set(faults)
  }

  /** As if the guest of this server had ended by itself. */
  crash(server: string): void {
    this.#backend().crash(server as InstanceId)
  }

  /** As if its machine were cut off from power: its compute ends, and all guests with it. */
  async losePower(): Promise<void> {
    // Its compute says nothing of it.
    this.process.freeze()
    this.#backend().loseHost()
    await this.process.kill()
  }

  /** What the guest of this server has of volumes. */
  volumesOf(server: string): readonly FakeAttachment[] {
    return this.#backend().volumesOf(server as InstanceId)
  }

  /** Afterwards an unmanaged guest is on the backend. */
  plant(guest: UnmanagedGuest): void {
    this.#backend().plant(guest)
  }

  /** The ids of all guests on the host, running or not, with any faults set. */
  async guests(): Promise<readonly string[]> {
    const reports = await this.#backend().list(AbortSignal.timeout(LIST_LIMIT_MS))
    return reports.map(({ id }) => id)
  }

  /** The ids of those that run. */
  async runningGuests(): Promise<readonly string[]> {
    const reports = await this.#backend().list(AbortSignal.timeout(LIST_LIMIT_MS))
    return reports.filter(({ powerState }) => powerState === 'running').map(({ id }) => id)
  }

  #backend(): FakeDriver {
    if (this.#driver === undefined)
      throw new Failure('unavailable', `Host ${this.name} has never been started`)
    return this.#driver
  }
}
