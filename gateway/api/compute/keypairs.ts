import type { operations } from '#openapi/compute.gen.ts'
import {
  type CreatedKeypair,
  createKeypair as create,
  listKeypairs as listPage,
  deleteKeypair as remove,
  showKeypair as show,
} from '../../app/keypairs/keypairs.ts'
import type { Keypair, StoredKeypair } from '../../db/keypairs.ts'
import type { Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { plainTime } from '../../views/time.ts'
import { nextPageLinks } from './page.ts'

const createKeypair: Handler<operations['createKeypair']> = async (call) => {
  const { app, context, body } = call
  const { name, type = 'ssh', public_key, user_id } = body.keypair
  const asked = { name, type, publicKey: public_key, userId: user_id }
  const keypair = await create(app.db, context, asked)
  return { body: { keypair: createdKeypairView(keypair) } }
}

const deleteKeypair: Handler<operations['deleteKeypair']> = async (call) => {
  const { app, context, params, query } = call
  await remove(app.db, context, params.keypair_name, query.user_id)
  return {}
}

const listKeypairs: Handler<operations['listKeypairs']> = async (call) => {
  const { app, context, query } = call
  const limit = pageLimit(query.limit)
  const page = await listPage(app.db, context, query, limit)
  const next = nextPageLinks(call, 'keypairs_links', {
    size: page.length,
    limit,
    last: page.at(-1)?.name,
  })
  const keypairs = page.map((keypair) => ({ keypair: keypairSummary(keypair) }))
  return { body: { keypairs, ...next } }
}

const showKeypair: Handler<operations['showKeypair']> = async (call) => {
  const { app, context, params, query } = call
  const keypair = await show(app.db, context, params.keypair_name, query.user_id)
  return { body: { keypair: keypairView(keypair) } }
}

export const keypairHandlers = { createKeypair, deleteKeypair, listKeypairs, showKeypair }

function keypairSummary({ name, type, publicKey, fingerprint }: Keypair) {
  return { name, type, public_key: publicKey, fingerprint }
}

function keypairView(keypair: StoredKeypair) {
  return {
    ...keypairSummary(keypair),
    id: keypair.serial,
    user_id: keypair.userId,
    created_at: plainTime(keypair.createdAt),
    updated_at: null,
    deleted: false as const,
    deleted_at: null,
  }
}

/** The one answer that has the private key, where one was made. */
function createdKeypairView(keypair: CreatedKeypair) {
  const { userId, privateKey } = keypair
  return {
    ...keypairSummary(keypair),
    user_id: userId,
    ...(privateKey !== undefined && { private_key: privateKey }),
  }
}
