import { Failure, isFailure } from '#common/errors.ts'
import { INTEGRATION_BRIDGE } from '../../ovn/integration-bridge.ts'
import { instanceOfDomain, isOwn } from '../domains/own-domains.ts'
import type { LibvirtHost } from '../host.ts'
import { attributeAt, elementsAt, parseXml, type XmlTree } from '../xml/parse.ts'
import { isNetworkName } from './network-name.ts'

type Host = Pick<LibvirtHost, 'devices' | 'domains' | 'owner'>

/** What joins the NICs of this host's guests. */
type Kind = 'host' | 'ovn'

const NAMED_MAX = 3
const WORDS: Readonly<Record<Kind, string>> = {
  host: 'bridges of this host (network=host)',
  ovn: "the cell's OVN (network=ovn)",
}

/**
 * Throws `unavailable` while guests of this host are joined by what its setting `network` no longer names: nothing would
 * carry their packets after their next start. NICs of adopted guests may be on anything.
 */
export async function refuseOtherNetworks(
  host: Host,
  wanted: Kind,
  signal: AbortSignal,
): Promise<void> {
  const found: string[] = []
  const other: Kind = wanted === 'host' ? 'ovn' : 'host'
  for (const domain of await host.domains.list(signal)) {
    if (!(await isOwn(host.domains, host.owner, domain, signal))) continue
    const xml = await host.devices.xml(domain, signal).catch((error: unknown) => {
      // It went since the list was read.
      if (isFailure(error, 'not-found')) return undefined
      throw error
    })
    if (xml === undefined) continue
    const nics = elementsAt(parseXml(xml), 'domain', 'devices', 'interface')
    if (nics.some((nic) => isOn(nic, other))) found.push(instanceOfDomain(domain))
  }
  if (found.length === 0) return
  const named = found.slice(0, NAMED_MAX).join(', ')
  const more = found.length > NAMED_MAX ? ` and ${found.length - NAMED_MAX} more` : ''
  throw new Failure(
    'unavailable',
    `Guests ${named}${more} are joined by ${WORDS[other]}, but this host is set to network=${wanted}. Set network=${other} again and delete or migrate them first.`,
  )
}

function isOn(nic: XmlTree, kind: Kind): boolean {
  if (kind === 'ovn') return attributeAt(nic, 'bridge', 'source') === INTEGRATION_BRIDGE
  return isNetworkName(attributeAt(nic, 'network', 'source'))
}
