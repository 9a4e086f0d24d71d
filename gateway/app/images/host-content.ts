import type { Executor } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { MOVE_BYTES_MAX } from '#openapi/wire/host.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { findHost } from '../../db/host-list.ts'
import type { ImageContent } from '../../db/image.ts'
import type { ComputeDeps } from '../compute.ts'
import type { Cells } from '../hosts/host-state.ts'
import type { RequestContext } from '../request-context.ts'
import { HEAD_BYTES, type Sample, TAIL_BYTES } from './formats/format.ts'
import type { Part } from './store/content-store.ts'

/** How contents are read that hosts keep. */
export interface HostReader extends Pick<ComputeDeps, 'db' | 'cells' | 'askHost' | 'clock'> {
  readonly work: RequestContext
}

type PieceReader = Pick<HostReader, 'askHost' | 'clock' | 'work'>

/** An image whose content a host keeps. */
export interface KeptContent extends Pick<ImageContent, 'sizeBytes'> {
  readonly imageId: string
  readonly hostId: string
}

/** So many pieces of a content are asked for at a time: a gateway keeps no more of them in memory. */
const IN_FLIGHT_MAX = 4
/** A piece is asked for again so long: the host's compute, or the bus, may be about to return. Less than its reader waits. */
const TRIED_FOR_MS = 10_000
const PAUSE_MS = 500

/** The bytes of the content, or of a part of it, piece after piece. Reading throws `unavailable` where its host does not give them. */
export async function* hostContent(
  reader: HostReader,
  kept: KeptContent,
  part?: Part,
): AsyncGenerator<Uint8Array> {
  yield* readHostContent(reader, await cellOfHost(reader, kept), kept, part)
}

/** The same, from a host of this cell. */
export async function* readHostContent(
  reader: PieceReader,
  cell: CellRef,
  kept: KeptContent,
  { first, last }: Part = { first: 0, last: kept.sizeBytes - 1 },
): AsyncGenerator<Uint8Array> {
  const asked: Promise<Uint8Array>[] = []
  let next = first
  const askAhead = () => {
    while (asked.length < IN_FLIGHT_MAX && next <= last) {
      const bytes = Math.min(MOVE_BYTES_MAX, last - next + 1)
      const piece = readPiece(reader, cell, kept, next, bytes)
      // One that fails while those before it are sent is noticed in its turn.
      piece.catch(() => undefined)
      asked.push(piece)
      next += bytes
    }
  }
  askAhead()
  for (let piece = asked.shift(); piece !== undefined; piece = asked.shift()) {
    const bytes = await piece
    askAhead()
    yield bytes
  }
}

/** The two ends of the content. Throws `unavailable` as reading it does. */
export async function sampleAtHost(reader: HostReader, kept: KeptContent): Promise<Sample> {
  const { sizeBytes } = kept
  const last = sizeBytes - 1
  const head = await partOf(reader, kept, { first: 0, last: Math.min(HEAD_BYTES - 1, last) })
  const tail = await partOf(reader, kept, { first: Math.max(0, sizeBytes - TAIL_BYTES), last })
  return { head, tail, sizeBytes }
}

/** True where the content that the host keeps can no longer be read: the host has left its cell, or its cell was declared lost. */
export async function isHostGone(
  { db, cells }: { readonly db: Executor; readonly cells: Cells },
  hostId: string,
): Promise<boolean> {
  const host = await findHost(db, hostId)
  if (host === undefined || host.view.isDeleted) return true
  return cells.cell(host.cellId)?.isLost !== false
}

async function partOf(reader: HostReader, kept: KeptContent, part: Part): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of hostContent(reader, kept, part)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function cellOfHost(
  { db, cells }: HostReader,
  { imageId, hostId }: KeptContent,
): Promise<CellRef> {
  const host = await findHost(db, hostId)
  const cell = host && cells.cell(host.cellId)
  if (cell !== undefined && !cell.isLost) return cell
  throw new Failure('unavailable', `The content of image ${imageId} cannot be read now.`, {
    detail: `host ${hostId}, which keeps it, is in no cell that can be asked`,
  })
}

async function readPiece(
  { askHost, clock, work }: PieceReader,
  cell: CellRef,
  { imageId, hostId }: KeptContent,
  offset: number,
  length: number,
): Promise<Uint8Array> {
  const begunAt = clock.elapsed()
  for (;;) {
    try {
      const question = { imageId, offset, maxBytes: length }
      const answer = await askHost(cell, hostId as HostId, 'kept-disk-read', question, work)
      const bytes = Buffer.from(answer.bytes, 'base64')
      if (bytes.length === length) return bytes
      throw new Failure('unavailable', `The content of image ${imageId} cannot be read now.`, {
        detail: `host ${hostId} gave ${bytes.length} bytes from ${offset} instead of ${length}`,
      })
    } catch (error) {
      const isLate = clock.elapsed() - begunAt > TRIED_FOR_MS
      if (!isFailure(error, 'unavailable') || isLate) throw asUnavailable(error, imageId)
      await clock.sleep(PAUSE_MS)
    }
  }
}

/** What a host refuses, another gateway may hear otherwise: its reader is to go on there. */
function asUnavailable(error: unknown, imageId: string): unknown {
  if (!isFailure(error) || error.kind === 'unavailable') return error
  return new Failure('unavailable', `The content of image ${imageId} cannot be read now.`, {
    cause: error,
  })
}
