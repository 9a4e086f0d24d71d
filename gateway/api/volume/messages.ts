import type { operations } from '#openapi/volume.gen.ts'
import {
  listMessages as list,
  deleteMessage as remove,
  showMessage as show,
} from '../../app/volumes/messages.ts'
import type { Links } from '../../http/links.ts'
import type { Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { plainTime } from '../../views/time.ts'
import { volumeLinks } from '../../views/volume/links.ts'
import { nextPageLinks } from '../compute/page.ts'

type Message = Awaited<ReturnType<typeof show>>

const deleteMessage: Handler<operations['deleteMessage']> = async ({ app, context, params }) => {
  await remove(app.db, context, params.message_id)
  return {}
}

const listMessages: Handler<operations['listMessages']> = async (call) => {
  const { app, context, query, links } = call
  const limit = pageLimit(query.limit)
  const messages = await list(app.db, context, query, limit)
  const last = messages.at(-1)?.id
  const next = nextPageLinks(call, 'messages_links', { size: messages.length, limit, last })
  return { body: { messages: messages.map((message) => messageView(message, links)), ...next } }
}

const showMessage: Handler<operations['showMessage']> = async (call) => {
  const { app, context, params, links } = call
  const message = await show(app.db, context, params.message_id)
  return { body: { message: messageView(message, links) } }
}

export const messageHandlers = { deleteMessage, listMessages, showMessage }

function messageView(message: Message, links: Links) {
  return {
    id: message.id,
    event_id: message.eventId,
    user_message: message.text,
    message_level: message.level,
    created_at: plainTime(message.createdAt),
    guaranteed_until: plainTime(message.expiresAt),
    request_id: message.requestId,
    resource_type: message.resourceType,
    resource_uuid: message.resourceId,
    links: volumeLinks(links, `/messages/${message.id}`),
  }
}
