import type { FeedRow } from '#openapi/wire/feed.ts'

/** A log line's fields for each request about a volume or a snapshot of one whose work ended, by these rows. */
export function endedVolumeWork(
  rows: readonly FeedRow[],
): readonly Readonly<Record<string, unknown>>[] {
  return rows.flatMap(({ body }) => {
    if (body.kind !== 'volume' && body.kind !== 'volume-snapshot') return []
    const { requestId, view } = body
    if (requestId === undefined) return []
    const id = 'volumeId' in view ? { volume_id: view.volumeId } : { snapshot_id: view.snapshotId }
    const result =
      view.fault === null ? { result: 'Success' } : { result: 'Error', error: view.fault }
    return [{ ...id, request_id: requestId, state: view.state, ...result }]
  })
}
