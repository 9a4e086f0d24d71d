import { Counter, Gauge, type Registry } from 'prom-client'
import { errorFields, type Logger } from '#common/log.ts'
import type { InterfaceCounters, NetworkStatistics } from '#drivers/network-statistics.ts'
import type { MetadataStore } from '../metadata/metadata-store.ts'

const READ_MS = 5_000
const COUNTED = {
  packets: 'Packets',
  bytes: 'Bytes',
  dropped: 'Packets that were dropped',
  errors: 'Packets with errors',
} as const satisfies Readonly<Record<keyof InterfaceCounters, string>>
const FIGURES = Object.keys(COUNTED) as readonly (keyof InterfaceCounters)[]

/** Where the ports of the host's guests are looked up. */
type Guests = Pick<MetadataStore, 'guests'>

/**
 * Afterwards `update` sets the counters of the registry to those of the host's switch. They name the ports of guests
 * that the host has, and the hosts to which it has tunnels, and nothing that a user chooses. While the switch does not
 * answer they have no series.
 */
export function networkMetrics(
  registry: Registry,
  statistics: NetworkStatistics,
  guests: Guests,
  log: Logger,
): { update(): Promise<void> } {
  const registers = [registry]
  const counter = (about: 'port' | 'tunnel', labels: readonly string[]) =>
    new Map(
      FIGURES.map((figure) => {
        const name = `weir_${about}_${figure}_total`
        const help = `${COUNTED[figure]} of a ${about}`
        const labelNames = [...labels, 'direction']
        return [figure, new Counter({ name, help, labelNames, registers })] as const
      }),
    )
  const ofPorts = counter('port', ['server_id', 'port_id', 'network_id'])
  const ofTunnels = counter('tunnel', ['remote_host', 'remote_address'])
  const up = new Gauge({
    name: 'weir_tunnel_up',
    help: 'Whether the other end of a tunnel answers',
    labelNames: ['remote_host', 'remote_address'],
    registers,
  })
  const isRead = new Gauge({
    name: 'weir_host_switch_up',
    help: 'Whether Open vSwitch answered when its counters were last read',
    registers,
  })
  const read = () =>
    statistics.read(AbortSignal.timeout(READ_MS)).catch((error: unknown) => {
      log.warn(errorFields(error), 'counters of the switch could not be read')
    })
  const set = (
    counters: ReadonlyMap<keyof InterfaceCounters, Counter>,
    labels: Readonly<Record<string, string>>,
    counted: InterfaceCounters,
  ) => {
    for (const figure of FIGURES) counters.get(figure)!.inc(labels, counted[figure])
  }
  return {
    update: async () => {
      const counted = await read()
      for (const metric of [...ofPorts.values(), ...ofTunnels.values(), up]) metric.reset()
      isRead.set(counted === undefined ? 0 : 1)
      const { ports, tunnels } = counted ?? { ports: [], tunnels: [] }
      const placeOf = placesOf(guests)
      for (const { portId, received, sent } of ports) {
        const place = placeOf.get(portId)
        if (place === undefined) continue
        // As the guest sees it.
        set(ofPorts, { ...place, direction: 'out' }, received)
        set(ofPorts, { ...place, direction: 'in' }, sent)
      }
      for (const { remoteHost, address, isUp, received, sent } of tunnels) {
        const labels = { remote_host: remoteHost, remote_address: address }
        set(ofTunnels, { ...labels, direction: 'in' }, received)
        set(ofTunnels, { ...labels, direction: 'out' }, sent)
        if (isUp !== null) up.set(labels, isUp ? 1 : 0)
      }
    },
  }
}

function placesOf(guests: Guests) {
  return new Map(
    guests.guests().flatMap(({ id, build }) =>
      build.nics.map(({ portId, networkId }) => {
        return [
          portId as string,
          { server_id: id, port_id: portId, network_id: networkId },
        ] as const
      }),
    ),
  )
}
