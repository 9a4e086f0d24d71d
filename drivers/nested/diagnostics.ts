import { Failure, isFailure } from '#common/errors.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { Diagnostics } from '../driver.ts'
import type { GuestDiagnostics } from '../guest-diagnostics.ts'
import { getServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

/** Of Nova's standard diagnostics (2.48), what the driver reads. */
interface ServerDiagnostics {
  readonly state: PowerState
  readonly driver: string
  readonly hypervisor: string | null
  readonly hypervisor_os: string | null
  readonly uptime: number | null
  readonly config_drive: boolean
  readonly memory_details: { readonly maximum: number | null; readonly used: number | null }
  readonly cpu_details: readonly {
    readonly id: number
    readonly time: number
    readonly utilisation: number | null
  }[]
  readonly nic_details: readonly Readonly<Record<string, number | null>>[]
  readonly disk_details: readonly Readonly<Record<string, number>>[]
}

/** What the cloud tells of a guest; most clouds tell it only to their administrators. */
export function nestedDiagnostics(host: NestedHost): Diagnostics {
  return {
    async read(id, signal) {
      const server = await getServer(host, id, signal)
      const microversion = await host.versions.need('2.48', 'reading diagnostics', signal)
      const path = `/servers/${server.id}/diagnostics`
      const asking = host.cloud.call<ServerDiagnostics>('compute', 'GET', path, {
        microversion,
        signal,
      })
      const { body } = await asking.catch((error: unknown) => {
        if (!isFailure(error, 'forbidden')) throw error
        throw new Failure(
          'unsupported',
          'The cloud below shows diagnostics to nobody but itself.',
          {
            cause: error,
          },
        )
      })
      return figures(body)
    },
  }
}

function figures(seen: ServerDiagnostics): GuestDiagnostics {
  const { memory_details: memory } = seen
  return {
    powerState: seen.state,
    driver: seen.driver,
    hypervisor: seen.hypervisor,
    hypervisorOs: seen.hypervisor_os,
    uptime: seen.uptime,
    hasConfigDrive: seen.config_drive,
    memory: { maximumMb: memory.maximum, usedMb: memory.used },
    cpus: seen.cpu_details.map(({ id, time, utilisation }) => ({ id, timeNs: time, utilisation })),
    nics: seen.nic_details.map((nic) => {
      const of = (name: string) => nic[name] ?? 0
      return {
        macAddress: String(nic['mac_address'] ?? ''),
        rxOctets: of('rx_octets'),
        rxPackets: of('rx_packets'),
        rxErrors: of('rx_errors'),
        rxDrop: of('rx_drop'),
        txOctets: of('tx_octets'),
        txPackets: of('tx_packets'),
        txErrors: of('tx_errors'),
        txDrop: of('tx_drop'),
      }
    }),
    disks: seen.disk_details.map((disk) => ({
      readBytes: disk['read_bytes'] ?? 0,
      readRequests: disk['read_requests'] ?? 0,
      writeBytes: disk['write_bytes'] ?? 0,
      writeRequests: disk['write_requests'] ?? 0,
      errors: disk['errors_count'] ?? 0,
    })),
    own: {},
  }
}
