import {
  canonicalArchitecture,
  runsGuestsOf,
  unheededProperty,
  wantedArchitecture,
  wantedHypervisor,
} from '#common/image-properties.ts'
import { meetsVersions } from '#common/version-condition.ts'
import type { KindFilter } from '../filter.ts'
import type { HostKind } from '../host-state.ts'
import type { PlacementRequest } from '../placement-request.ts'

type Properties = PlacementRequest['image']['properties']

/**
 * Holds the host to the image's format, architecture and hypervisor, as Nova's filter of this name does. Refuses hosts,
 * too, on whose guests a property about hardware would have no effect.
 */
export const imagePropertiesFilter: KindFilter = {
  name: 'ImagePropertiesFilter',
  by: 'kind',
  runsOnRebuild: true,
  refuse: (host, { image: { diskFormat, properties } }) => {
    const wanted = wantedHypervisor(properties)
    // A server on a simulated host would look as if it ran: only images that say they want that may go there.
    if (host.simulated && wanted !== 'fake') return 'is simulated, and the image is real'
    const type = host.simulated ? 'fake' : host.hypervisorType
    if (wanted !== undefined && !runsGuestsOf(type, wanted))
      return `runs ${host.hypervisorType} guests`
    const architecture = wantedArchitecture(properties)
    if (architecture !== undefined && architecture !== canonicalArchitecture(host.architecture))
      return `is of architecture ${host.architecture}`
    if (!host.imageFormats.includes(diskFormat)) return `cannot boot ${diskFormat} images`
    return whyOtherVersion(host, properties) ?? whyUnsupported(host, properties)
  },
}

function whyOtherVersion(
  { hypervisorVersion }: HostKind,
  properties: Properties,
): string | undefined {
  const wanted = properties['img_hv_requested_version'] ?? properties['hypervisor_version_requires']
  if (wanted === undefined) return undefined
  const meets = meetsVersions(hypervisorVersion, wanted)
  if (meets === undefined)
    throw new Error(`the image requires the version "${wanted}", which must be like >=6.0,<8`)
  return meets
    ? undefined
    : `has version ${hypervisorVersion} of its hypervisor, ${wanted} is needed`
}

function whyUnsupported({ imageProperties }: HostKind, properties: Properties): string | undefined {
  if (imageProperties === null) return undefined
  const unheeded = unheededProperty(properties, imageProperties)
  return unheeded === undefined ? undefined : `does not support the image property ${unheeded}`
}
