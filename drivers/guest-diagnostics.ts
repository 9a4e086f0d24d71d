import type { InstanceId } from '#common/ids.ts'

import type { PowerState } from '#common/states/instance-states.ts'

/** Null where the backend cannot tell. */
export interface GuestDiagnostics {
  readonly powerState: PowerState
  /** Nova's name of the kind of driver. */
  readonly driver: string
  readonly hypervisor: string | null
  readonly hypervisorOs: string | null
  /** Seconds since the guest was started. */
  readonly uptime: number | null
  readonly hasConfigDrive: boolean
  readonly memory: { readonly maximumMb: number | null; readonly usedMb: number | null }
  readonly cpus: readonly {
    readonly id: number
    readonly timeNs: number
    readonly utilisation: number | null
  }[]
  readonly nics: readonly NicFigures[]
  readonly disks: readonly DiskFigures[]
  /** The same and more as the backend names it, such as `cpu0_time`: what was shown before there was a standard. */
  readonly own: Readonly<Record<string, number>>
}

export interface NicFigures {
  readonly macAddress: string
  readonly rxOctets: number
  readonly rxPackets: number
  readonly rxErrors: number
  readonly rxDrop: number
  readonly txOctets: number
  readonly txPackets: number
  readonly txErrors: number
  readonly txDrop: number
}

export interface DiskFigures {
  readonly readBytes: number
  readonly readRequests: number
  readonly writeBytes: number
  readonly writeRequests: number
  readonly errors: number
}

export interface CrashDump {
  /** Afterwards the guest has had a non-maskable interrupt. Throws `conflict` when it is not running. */
  trigger(id: InstanceId, signal: AbortSignal): Promise<void>
}

export interface Diagnostics {
  /** The usage of the guest so far. Throws `conflict` when it is not running. */
  read(id: InstanceId, signal: AbortSignal): Promise<GuestDiagnostics>
}
