import { isUuid } from '#common/ids.ts'

const MARK = /^(?:(.*?) ?\| )?weir-([0-9a-f-]{36}) ([0-9a-f-]{36})$/s
/** Neutron's descriptions are no longer. */
const DESCRIPTION_MAX = 255
const MARK_LENGTH = 81

/** How the description of a floating IP below says that it is one of ours. */
export interface Mark {
  readonly id: string
  readonly hostId: string
  /** What it said before we had it; undefined: we made it. */
  readonly before: string | undefined
}

/** The mark in a description in the cloud; undefined for an object that is not Weir's. */
export function markOf(description: string): Mark | undefined {
  const [, before, id = '', hostId = ''] = MARK.exec(description) ?? []
  return isUuid(id) && isUuid(hostId) ? { id, hostId, before } : undefined
}

/** The description with the mark, and as much of the former description as fits. */
export function marked({ id, hostId, before }: Mark): string {
  const own = `weir-${id} ${hostId}`
  return before === undefined ? own : `${before.slice(0, DESCRIPTION_MAX - MARK_LENGTH)} | ${own}`
}
