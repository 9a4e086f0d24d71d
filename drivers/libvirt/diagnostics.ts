import { stat } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type {
  Diagnostics,
  DiskFigures,
  GuestDiagnostics,
  NicFigures,
} from '../guest-diagnostics.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { OFF, powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { attributeAt, elementsAt, parseXml, type XmlTree } from './xml/parse.ts'

type Figure = (name: string) => number

/** libvirt's name of a figure -> Nova's, of one network device. */
const NIC_NAMES = {
  'rx.bytes': 'rx',
  'rx.pkts': 'rx_packets',
  'rx.errs': 'rx_errors',
  'rx.drop': 'rx_drop',
  'tx.bytes': 'tx',
  'tx.pkts': 'tx_packets',
  'tx.errs': 'tx_errors',
  'tx.drop': 'tx_drop',
} as const
const DISK_NAMES = {
  'rd.reqs': 'read_req',
  'rd.bytes': 'read',
  'wr.reqs': 'write_req',
  'wr.bytes': 'write',
} as const
const BALLOON = 'balloon.'

/** What libvirt counts for a domain. */
export function libvirtDiagnostics(host: LibvirtHost): Diagnostics {
  return {
    async read(id, signal) {
      const domain = await getOwnDomain(host.domains, host.owner, id, signal)
      const powerState = powerStateOf(await host.domains.state(domain, signal))
      if (OFF.has(powerState))
        throw new Failure('conflict', `Instance ${id} is not running, so it has no diagnostics.`)
      const figures = await host.devices.figures(domain, signal)
      const [xml] = elementsAt(parseXml(await host.devices.xml(domain, signal)), 'domain')
      const { configDrive, vncSocket } = filesOf(host, id)
      const uptime = await ageOf(vncSocket)
      const hasConfigDrive = (await ageOf(configDrive)) !== null
      return { ...read(figures, xml ?? {}), powerState, uptime, hasConfigDrive }
    },
  }
}

function read(
  figures: ReadonlyMap<string, number | string>,
  xml: XmlTree,
): Omit<GuestDiagnostics, 'powerState' | 'uptime' | 'hasConfigDrive'> {
  const figure: Figure = (name) => Number(figures.get(name) ?? 0)
  const each = <T>(kind: string, one: (index: number) => T) =>
    Array.from({ length: figure(`${kind}.${kind === 'vcpu' ? 'current' : 'count'}`) }, (_, i) =>
      one(i),
    )
  const macs = elementsAt(xml, 'devices', 'interface').map((nic) =>
    attributeAt(nic, 'address', 'mac'),
  )
  const unused = figures.get(`${BALLOON}unused`)
  return {
    driver: 'libvirt',
    hypervisor: attributeAt({ domain: [xml] }, 'type', 'domain'),
    hypervisorOs: 'linux',
    memory: {
      maximumMb: Math.floor(figure(`${BALLOON}maximum`) / 1024),
      // Only a guest with a balloon driver tells.
      usedMb:
        unused === undefined
          ? null
          : Math.floor((figure(`${BALLOON}current`) - Number(unused)) / 1024),
    },
    cpus: each('vcpu', (id) => ({ id, timeNs: figure(`vcpu.${id}.time`), utilisation: null })),
    nics: each('net', (index) => nicFigures(figure, index, macs[index] ?? '')),
    disks: each('block', (index) => diskFigures(figure, index)),
    own: ownNames(figures),
  }
}

function nicFigures(figure: Figure, index: number, macAddress: string): NicFigures {
  const of = (name: keyof typeof NIC_NAMES) => figure(`net.${index}.${name}`)
  return {
    macAddress,
    rxOctets: of('rx.bytes'),
    rxPackets: of('rx.pkts'),
    rxErrors: of('rx.errs'),
    rxDrop: of('rx.drop'),
    txOctets: of('tx.bytes'),
    txPackets: of('tx.pkts'),
    txErrors: of('tx.errs'),
    txDrop: of('tx.drop'),
  }
}

function diskFigures(figure: Figure, index: number): DiskFigures {
  const of = (name: keyof typeof DISK_NAMES) => figure(`block.${index}.${name}`)
  return {
    readBytes: of('rd.bytes'),
    readRequests: of('rd.reqs'),
    writeBytes: of('wr.bytes'),
    writeRequests: of('wr.reqs'),
    errors: 0,
  }
}

/** As Nova named them before 2.48: `cpu0_time`, `vda_read`, `vnet1_rx_packets`, `memory-actual`. */
function ownNames(figures: ReadonlyMap<string, number | string>): Readonly<Record<string, number>> {
  const own: Record<string, number> = {}
  for (const [name, value] of figures) {
    if (typeof value !== 'number') continue
    const [kind = '', index = '', ...rest] = name.split('.')
    const of = rest.join('.')
    const device = figures.get(`${kind}.${index}.name`)
    if (kind === 'vcpu' && of === 'time') own[`cpu${index}_time`] = value
    if (kind === 'net' && of in NIC_NAMES)
      own[`${device}_${NIC_NAMES[of as keyof typeof NIC_NAMES]}`] = value
    if (kind === 'block' && of in DISK_NAMES)
      own[`${device}_${DISK_NAMES[of as keyof typeof DISK_NAMES]}`] = value
    if (name === `${BALLOON}maximum`) own['memory'] = value
    if (name === `${BALLOON}current`) own['memory-actual'] = value
    if (name === `${BALLOON}rss`) own['memory-rss'] = value
  }
  return own
}

/** Seconds since the file was made; null when it is not there. */
async function ageOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ mtimeMs }) => Math.floor((Date.now() - mtimeMs) / 1000),
    () => null,
  )
}
