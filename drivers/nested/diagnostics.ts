import { type Static, Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import { POWER_STATES, type PowerState } from '#common/states/instance-states.ts'
import { Nullable, OneOf } from '#openapi/wire/scalars.ts'
import type { Diagnostics, GuestDiagnostics } from '../guest-diagnostics.ts'
import { getServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

const Text = Nullable(Type.String())
const Amount = Nullable(Type.Number())
const Figures = Type.Record(Type.String(), Type.Union([Type.Number(), Type.String(), Type.Null()]))

/** Of Nova's standard diagnostics (2.48), what the driver reads. */
const ServerDiagnostics = Type.Object({
  state: OneOf(Object.keys(POWER_STATES) as PowerState[]),
  driver: Type.String(),
  hypervisor: Text,
  hypervisor_os: Text,
  uptime: Amount,
  config_drive: Type.Boolean(),
  memory_details: Type.Object({ maximum: Amount, used: Amount }),
  cpu_details: Type.Array(
    Type.Object({ id: Type.Integer(), time: Type.Number(), utilisation: Amount }),
  ),
  nic_details: Type.Array(Figures),
  disk_details: Type.Array(Figures),
})

/** The cloud's diagnostics of a guest; most clouds show them only to their administrators. */
export function nestedDiagnostics(host: NestedHost): Diagnostics {
  return {
    async read(id, signal) {
      const server = await getServer(host, id, signal)
      const microversion = await host.versions.need('2.48', 'reading diagnostics', signal)
      const path = `/servers/${server.id}/diagnostics`
      const asking = host.cloud.ask(ServerDiagnostics, 'compute', 'GET', path, {
        microversion,
        signal,
      })
      const { body } = await asking.catch((error: unknown) => {
        if (!isFailure(error, 'forbidden')) throw error
        throw new Failure(
          'unsupported',
          'The nested cloud shows diagnostics to its administrators only.',
          {
            cause: error,
          },
        )
      })
      return figures(body)
    },
  }
}

function figures(seen: Static<typeof ServerDiagnostics>): GuestDiagnostics {
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
      const of = (name: string) => Number(nic[name] ?? 0)
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
    disks: seen.disk_details.map((disk) => {
      const of = (name: string) => Number(disk[name] ?? 0)
      return {
        readBytes: of('read_bytes'),
        readRequests: of('read_requests'),
        writeBytes: of('write_bytes'),
        writeRequests: of('write_requests'),
        errors: of('errors_count'),
      }
    }),
    own: {},
  }
}
