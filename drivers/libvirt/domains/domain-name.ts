import { type InstanceId, isUuid } from '#common/ids.ts'

const PREFIX = 'weir-'

/** A domain is named by its instance's id alone; nothing a user chose becomes a name on the host. */
export function domainName(id: InstanceId): string {
  return `${PREFIX}${id}`
}

/** The instance a domain of this name would belong to; undefined for a name Weir never gives. */
export function instanceOfDomainName(name: string): InstanceId | undefined {
  const id = name.slice(PREFIX.length)
  return name.startsWith(PREFIX) && isUuid(id) ? (id as InstanceId) : undefined
}
