import type { FeedBody, FeedRow } from '#openapi/wire/feed.ts'

type Told = Extract<
  FeedBody,
  { kind: 'volume' | 'volume-deleted' | 'volume-snapshot' | 'volume-snapshot-deleted' }
>

/** A log line's fields for each request about a volume or a snapshot of one whose work ended, by these rows. */
export function endedVolumeWork(
  rows: readonly FeedRow[],
): readonly Readonly<Record<string, unknown>>[] {
  return rows.flatMap(({ body }) => {
    if (!isOfVolume(body) || body.requestId === undefined) return []
    const { requestId, traceId } = body
    const trace = traceId !== undefined && { trace_id: traceId }
    return [{ ...subjectOf(body), request_id: requestId, ...trace, ...resultOf(body) }]
  })
}

function isOfVolume(body: FeedBody): body is Told {
  return (
    body.kind === 'volume' ||
    body.kind === 'volume-deleted' ||
    body.kind === 'volume-snapshot' ||
    body.kind === 'volume-snapshot-deleted'
  )
}

function subjectOf(body: Told): Readonly<Record<string, string>> {
  const named = 'view' in body ? body.view : body
  return 'volumeId' in named ? { volume_id: named.volumeId } : { snapshot_id: named.snapshotId }
}

function resultOf(body: Told): Readonly<Record<string, string>> {
  if (!('view' in body)) return { state: 'deleted', result: 'Success' }
  const { state, fault } = body.view
  return { state, ...(fault === null ? { result: 'Success' } : { result: 'Error', error: fault }) }
}
