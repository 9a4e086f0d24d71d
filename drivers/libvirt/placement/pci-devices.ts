import { Failure } from '#common/errors.ts'
import { pciResourceClass, requestedDevices } from '#common/pci-alias.ts'
import { attributeAt, elementsAt, parseXml, textAt } from '../xml/parse.ts'

/** Which devices of a host guests may be lent, and by which alias they are asked for. */
export interface PassthroughDevices {
  readonly alias: string
  /** An address such as `0000:3b:00.0`, or vendor and product such as `10de:1db4`. */
  readonly match: string
}

/** A device of this host that guests may be lent. */
export interface PciDevice {
  /** Such as `0000:3b:00.0`. */
  readonly address: string
  readonly resourceClass: string
}

const MATCH = /^(?:[0-9a-f]{4}:[0-9a-f]{4}|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/
/** PCI's class of bridges, which the machine's own devices are behind. */
const BRIDGE = '0x06'

/** Reads pairs such as `gpu=10de:1db4`. Throws `invalid`. */
export function passthroughDevices(pairs: readonly string[]): readonly PassthroughDevices[] {
  return pairs.map((pair) => {
    const [alias = '', match = ''] = pair.toLowerCase().split('=')
    if (requestedDevices(alias) !== undefined && !alias.includes(':') && MATCH.test(match))
      return { alias, match }
    throw new Failure(
      'invalid',
      `pci_devices: ${pair} is not like gpu=10de:1db4 (vendor and product) or nic=0000:3b:00.0 (address).`,
    )
  })
}

/** Of the machine's devices, as libvirt describes them, those that are lent; each by the first alias that means it. */
export function pciDevices(
  described: readonly string[],
  lent: readonly PassthroughDevices[],
): readonly PciDevice[] {
  return described.flatMap((xml) => {
    const capability = elementsAt(parseXml(xml), 'device', 'capability').find(
      (each) => attributeAt(each, 'type') === 'pci',
    )
    if (capability === undefined || textAt(capability, 'class').startsWith(BRIDGE)) return []
    const hex = (name: string, digits: number) =>
      Number(textAt(capability, name)).toString(16).padStart(digits, '0')
    const address = `${hex('domain', 4)}:${hex('bus', 2)}:${hex('slot', 2)}.${hex('function', 1)}`
    const id = (name: string) => attributeAt(capability, 'id', name).replace(/^0x/, '')
    const kind = `${id('vendor')}:${id('product')}`.toLowerCase()
    const named = lent.find(({ match }) => match === address || match === kind)
    return named === undefined ? [] : [{ address, resourceClass: pciResourceClass(named.alias) }]
  })
}

/** How many there are of each class that the operator named. */
export function devicesByClass(
  devices: readonly PciDevice[],
  lent: readonly PassthroughDevices[],
): Readonly<Record<string, number>> {
  const classes = new Set(lent.map(({ alias }) => pciResourceClass(alias)))
  return Object.fromEntries(
    [...classes].map((name) => [
      name,
      devices.filter(({ resourceClass }) => resourceClass === name).length,
    ]),
  )
}
