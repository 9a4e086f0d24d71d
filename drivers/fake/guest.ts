import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { FlavorSpec } from '../driver.ts'
import type { AttachmentSpec } from '../volumes.ts'

/** All a fake host knows of a guest. Plain data: it is what the journal holds. */
export interface FakeGuest {
  readonly id: InstanceId
  readonly displayName: string
  readonly powerState: PowerState
  /** It was on when its host went off, and nothing has happened to it since. */
  readonly endedWithHost?: true
  /** Off with its memory kept. */
  readonly isSuspended?: true
  /** Runs from a rescue image. */
  readonly isRescued?: true
  /** Names the flavor; its disks are what a resize may not shrink. */
  readonly flavor: FlavorSpec
  /** Name of the image its disk shows. */
  readonly image: string
  /** The flavor a resize may still go back to. */
  readonly flavorBefore?: FlavorSpec
  readonly hardware: FakeHardware
  /** For each vCPU the NUMA node of the host; absent: any. */
  readonly hostNodes?: readonly number[]
  /** Absent: none. */
  readonly volumes?: readonly FakeAttachment[]
  /** What its console showed, newest last, bounded. */
  readonly console: readonly string[]
}

export interface FakeAttachment extends AttachmentSpec {
  /** Such as `/dev/vdb`. */
  readonly device: string
  /** Is being made the same, and open too; absent: no other volume is. */
  readonly swapsTo?: AttachmentSpec
}

/** The hardware of a guest, from which its diagnostics are made. */
export interface FakeHardware {
  readonly vcpus: number
  readonly memoryMb: number
  readonly disks: number
  readonly macAddresses: readonly string[]
  readonly hasConfigDrive: boolean
}

const CONSOLE_LINES_MAX = 20

/** The guest after something happened to it, which its console tells. */
export function withEvent(guest: FakeGuest, powerState: PowerState, line: string): FakeGuest {
  const { endedWithHost: _over, isSuspended, ...kept } = guest
  return {
    ...kept,
    // An act that makes the guest run has read its saved memory, or did not need it.
    ...(isSuspended === true && powerState !== 'running' && { isSuspended }),
    powerState,
    console: [...guest.console, line].slice(-CONSOLE_LINES_MAX),
  }
}
