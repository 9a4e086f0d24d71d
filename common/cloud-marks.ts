import { isUuid } from './ids.ts'

/** Begins the metadata key by which a host knows its servers in another cloud. Stored there, so it never changes. */
export const CLOUD_MARK = 'weir:'

/** The content of a mark on a server: the server's id in a cloud above, and the cell there that sent it down. */
export interface CloudMark {
  readonly serverId: string
  readonly cellId: string
}

/** The marks of a server, from its metadata: one of each cloud it came through. */
export function cloudMarks(metadata: Readonly<Record<string, string>>): readonly CloudMark[] {
  return Object.entries(metadata)
    .filter(([key]) => key.startsWith(CLOUD_MARK))
    .map(([, value]) => value.split(' '))
    .flatMap(([serverId = '', cellId = '']) =>
      isUuid(serverId) && isUuid(cellId) ? [{ serverId, cellId }] : [],
    )
}
