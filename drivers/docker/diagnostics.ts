import { Failure } from '#common/errors.ts'
import type {
  Diagnostics,
  DiskFigures,
  GuestDiagnostics,
  NicFigures,
} from '../guest-diagnostics.ts'
import { type Container, getContainer, powerStateOf } from './containers/container.ts'
import { CONFIG_PATH } from './containers/container-body.ts'
import type { DockerHost } from './host.ts'

/** Of what `GET /containers/{id}/stats` answers, what the driver reads. */
interface ContainerStats {
  readonly cpu_stats: {
    readonly cpu_usage: { readonly total_usage: number; readonly percpu_usage?: readonly number[] }
  }
  readonly memory_stats: { readonly usage?: number; readonly limit?: number }
  readonly blkio_stats: {
    readonly io_service_bytes_recursive?: readonly BlockFigure[] | null
    readonly io_serviced_recursive?: readonly BlockFigure[] | null
  }
  readonly networks?: Readonly<Record<string, Readonly<Record<string, number>>>>
}

interface BlockFigure {
  readonly op: string
  readonly value: number
}

const MIB = 1024 ** 2

/** The counters of the engine for a container. */
export function dockerDiagnostics(host: DockerHost): Diagnostics {
  return {
    async read(id, signal) {
      const container = await getContainer(host, id, signal)
      const powerState = powerStateOf(container.State.Status)
      if (powerState !== 'running' && powerState !== 'paused')
        throw new Failure('conflict', `Instance ${id} is not running, so it has no diagnostics.`)
      const stats = await host.engine.call<ContainerStats>(
        'GET',
        `/containers/${container.Id}/stats`,
        { query: { stream: '0', 'one-shot': '1' }, signal },
      )
      return { ...figures(container, stats), powerState }
    },
  }
}

function figures(
  container: Container,
  stats: ContainerStats,
): Omit<GuestDiagnostics, 'powerState'> {
  const { usage, limit } = stats.memory_stats
  const { total_usage: total, percpu_usage: perCpu = [total] } = stats.cpu_stats.cpu_usage
  return {
    driver: 'docker',
    hypervisor: 'docker',
    hypervisorOs: 'linux',
    uptime: Math.floor((Date.now() - Date.parse(container.State.StartedAt)) / 1000),
    hasConfigDrive: container.Mounts.some(({ Destination }) => Destination === CONFIG_PATH),
    memory: { maximumMb: inMib(limit), usedMb: inMib(usage) },
    cpus: perCpu.map((timeNs, id) => ({ id, timeNs, utilisation: null })),
    nics: nicsOf(container, stats),
    disks: [diskOf(stats)],
    own: { cpu_total: total, ...(usage === undefined ? {} : { memory: usage / 1024 }) },
  }
}

/** The engine counts by the interface in the guest, and names those in the order of its networks' names. */
function nicsOf({ NetworkSettings }: Container, stats: ContainerStats): readonly NicFigures[] {
  const counters = Object.values(stats.networks ?? {})
  // A container on no network is on one that is called `none`, without an address.
  const networks = Object.values(NetworkSettings.Networks).filter((of) => of.MacAddress !== '')
  return networks.map(({ MacAddress }, index) => {
    const of = (name: string) => counters[index]?.[name] ?? 0
    return {
      macAddress: MacAddress,
      rxOctets: of('rx_bytes'),
      rxPackets: of('rx_packets'),
      rxErrors: of('rx_errors'),
      rxDrop: of('rx_dropped'),
      txOctets: of('tx_bytes'),
      txPackets: of('tx_packets'),
      txErrors: of('tx_errors'),
      txDrop: of('tx_dropped'),
    }
  })
}

function diskOf({ blkio_stats: blocks }: ContainerStats): DiskFigures {
  const sum = (figuresOf: readonly BlockFigure[] | null | undefined, op: string) =>
    (figuresOf ?? [])
      .filter((figure) => figure.op.toLowerCase() === op)
      .reduce((total, { value }) => total + value, 0)
  return {
    readBytes: sum(blocks.io_service_bytes_recursive, 'read'),
    readRequests: sum(blocks.io_serviced_recursive, 'read'),
    writeBytes: sum(blocks.io_service_bytes_recursive, 'write'),
    writeRequests: sum(blocks.io_serviced_recursive, 'write'),
    errors: 0,
  }
}

function inMib(bytes: number | undefined): number | null {
  return bytes === undefined ? null : Math.round(bytes / MIB)
}
