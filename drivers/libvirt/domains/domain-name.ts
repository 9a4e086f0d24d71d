import type { InstanceId } from '#common/ids.ts'

const PREFIX = 'weir-'

/** A domain is named by its instance's id alone; nothing a user chose becomes a name on the host. */
export function domainName(id: InstanceId): string {
  return `${PREFIX}${id}`
}
