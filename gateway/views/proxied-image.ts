import type { Image } from '../db/image.ts'
import type { Links } from '../http/links.ts'
import { resourceLinks } from './links.ts'
import { zonedTime } from './time.ts'

/** Nova's statuses for those of Glance; it knows no others. */
const STATUSES: Readonly<Record<string, string>> = {
  queued: 'SAVING',
  saving: 'SAVING',
  active: 'ACTIVE',
}
const PROGRESS: Readonly<Record<string, number>> = { queued: 25, saving: 50, active: 100 }

/** An image as lists of Nova's proxy name it. */
export function proxiedImageSummary({ id, name }: Image, links: Links) {
  const alternate = {
    rel: 'alternate',
    type: 'application/vnd.openstack.image',
    href: links.to(`/image/images/${id}`),
  }
  return { id, name, links: [...resourceLinks(links, `/images/${id}`), alternate] }
}

/** An image as Nova's proxy shows it: its properties are metadata, and a snapshot names its server. */
export function proxiedImageView(image: Image, links: Links) {
  const { properties } = image
  const server = properties['instance_uuid']
  const isAuto = properties['auto_disk_config']
  return {
    ...proxiedImageSummary(image, links),
    minRam: image.minRamMb,
    minDisk: image.minDiskGb,
    metadata: properties,
    created: zonedTime(image.createdAt),
    updated: zonedTime(image.updatedAt),
    status: STATUSES[image.status] ?? 'UNKNOWN',
    progress: PROGRESS[image.status] ?? 0,
    'OS-EXT-IMG-SIZE:size': image.content?.sizeBytes ?? null,
    ...(server !== undefined && {
      server: { id: server, links: resourceLinks(links, `/servers/${server}`) },
    }),
    ...(isAuto !== undefined && {
      'OS-DCF:diskConfig': /^(?:1|t|true|on|y|yes)$/i.test(isAuto)
        ? ('AUTO' as const)
        : ('MANUAL' as const),
    }),
  }
}
