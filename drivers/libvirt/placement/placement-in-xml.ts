import { attributeAt, elementsAt, type XmlTree } from '../xml/parse.ts'
import { cpusIn } from './cpus-in.ts'
import type { GuestPlacement } from './place-guest.ts'

/** Which CPUs and devices of its host a domain of somebody else's making has to itself. */
export function placementInXml(xml: XmlTree): GuestPlacement {
  const pins = elementsAt(xml, 'domain', 'cputune', 'vcpupin').flatMap((pin) =>
    cpusIn(attributeAt(pin, 'cpuset')),
  )
  const devices = elementsAt(xml, 'domain', 'devices', 'hostdev')
    .filter((each) => attributeAt(each, 'type') === 'pci')
    .flatMap((each) => elementsAt(each, 'source', 'address'))
    .map((address) => {
      const part = (name: string) => attributeAt(address, name).replace(/^0x/, '')
      return `${part('domain')}:${part('bus')}:${part('slot')}.${part('function')}`
    })
  return { ...(pins.length > 0 && { pins }), ...(devices.length > 0 && { devices }) }
}
