import { Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceSpec } from '../../driver.ts'
import { Id } from '../cloud/id.ts'
import type { NestedHost } from '../host.ts'
import { viaOf } from '../names.ts'
import type { InstanceRecord } from '../records.ts'
import { createRequest, type ServerParts } from './create-body.ts'

const CreatedServer = Type.Object({ server: Type.Object({ id: Id }) })

/**
 * The id of the server, which is requested once however often this is called. Throws `unavailable` while it is unknown
 * whether it was created; any other failure means that it was not.
 */
export async function createServer(
  host: NestedHost,
  spec: InstanceSpec,
  parts: ServerParts,
  signal: AbortSignal,
): Promise<string> {
  const { body, microversion } = await createRequest(host, spec, parts, signal)
  const before = recordOf(host, spec.id)
  if (before.sentAt !== null) refuseEarlyRepeat(host, before.sentAt)
  signal.throwIfAborted()
  await host.records.write(spec.id, { ...before, sentAt: Date.now() })
  try {
    const answer = await host.cloud.ask(CreatedServer, 'compute', 'POST', '/servers', {
      body,
      microversion,
      headers: { 'idempotency-key': before.key },
      via: viaOf(spec.asked.metadata),
      signal,
      isUncut: true,
    })
    await host.records.write(spec.id, {
      ...recordOf(host, spec.id),
      serverId: answer.body.server.id,
    })
    return answer.body.server.id
  } catch (error) {
    // Cut off while it waited for its turn: nothing was sent.
    if (signal.aborted && error === signal.reason) await host.records.write(spec.id, before)
    else if (isFailure(error)) await heed(host, spec.id, before, error)
    else throw unknown(error)
    throw error
  }
}

/** Afterwards the record has no pending create, if the refusal rules one out. Throws `unavailable` if it may be pending. */
async function heed(
  { records }: NestedHost,
  id: InstanceId,
  before: InstanceRecord,
  refusal: Failure,
): Promise<void> {
  if (refusal.kind === 'unavailable') return
  // The request before this one may still be at work.
  if (refusal.kind === 'conflict' && before.sentAt !== null) throw unknown(refusal)
  await records.write(id, { ...before, sentAt: null })
}

function recordOf({ records }: NestedHost, id: InstanceId): InstanceRecord {
  const record = records.get(id)
  if (record === undefined) throw new Failure('internal', `Instance ${id} has no record.`)
  return record
}

/**
 * Only a cloud that knows the key of a request may be asked again at once. Of another, a list that was just read has shown
 * no server with our mark, but the request may be still on its way.
 */
function refuseEarlyRepeat({ cloud, settings }: NestedHost, sentAt: number): void {
  if (cloud.isWeir || Date.now() >= sentAt + settings.createSettlesMs) return
  const until = new Date(sentAt + settings.createSettlesMs).toISOString()
  throw new Failure(
    'unavailable',
    'The nested cloud has not answered whether it created the server.',
    {
      detail: `it is asked again at ${until} unless the server shows up before`,
    },
  )
}

function unknown(cause: unknown): Failure {
  return new Failure(
    'unavailable',
    'The nested cloud has not answered whether it created the server.',
    {
      cause,
    },
  )
}

const REMOVE_MS = 60_000

/**
 * Afterwards the cloud has been asked to remove every server that carries the mark of an instance whose record names
 * another: servers of requests whose answers were lost.
 */
export async function removeDuplicateServers({
  cloud,
  records,
  view,
}: Pick<NestedHost, 'cloud' | 'records' | 'view'>): Promise<void> {
  for (const server of view.all()) {
    const id = view.instanceOf(server)
    const named = id === undefined ? undefined : records.get(id)?.serverId
    if (named === undefined || named === null || named === server.id) continue
    const signal = AbortSignal.timeout(REMOVE_MS)
    await cloud
      .call('compute', 'DELETE', `/servers/${server.id}`, { signal })
      .catch((error: unknown) => {
        if (!isFailure(error, 'not-found', 'conflict')) throw error
      })
  }
}
