import type { operations } from '#openapi/federation.gen.ts'
import { BUS_LEAF_PATH } from '#openapi/wire.ts'
import { join as letIn } from '../../app/federation/join.ts'
import { renewCredential as renew } from '../../app/federation/renew-credential.ts'
import { BUS_PATH } from '../../http/bus-sockets.ts'
import { joinUrl } from '../../http/join-url.ts'
import type { Handler } from '../../http/operation.ts'

/** POST /v1/join */
export const join: Handler<operations['join']> = async ({ app, body, links }) => {
  const { token, public_key: publicKey, wire_versions: wireVersions } = body
  const asked = { token, publicKey, wireVersions }
  const { subject, credential, wireVersion } = await letIn(app.db, app.access, asked)
  const { cellId, cellName, hostId, hostName } = subject
  const host = hostId === null || hostName === null ? null : { id: hostId, name: hostName }
  const root = joinUrl(app.config, links)
  // Of http ws is made, and of https wss.
  const bus = root.replace(/^http/, 'ws')
  return {
    body: {
      cell: { id: cellId, name: cellName },
      host,
      credential,
      wire_version: wireVersion,
      bus: {
        url: bus + BUS_PATH,
        leaf_url: app.config.natsLeafUrl === undefined ? null : bus + BUS_LEAF_PATH,
      },
      image_url: `${root}/image`,
    },
  }
}

/** POST /v1/join/renew */
export const renewCredential: Handler<operations['renewCredential']> = async ({ app, body }) => {
  const credential = await renew(app.db, app.access, body, app.compute.clock.now())
  return { body: { credential } }
}
