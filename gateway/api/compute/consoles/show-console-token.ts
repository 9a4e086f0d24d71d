import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { showConsole } from '../../../app/consoles/show-console.ts'
import type { Handler } from '../../../http/operation.ts'
import { consoleTokenView } from '../../../views/console.ts'
import { isSince } from '../../../views/since.ts'

export const showConsoleToken: Handler<operations['showConsoleToken']> = async (call) => {
  const { app, context, params, links } = call
  const place = await showConsole(app.consoles, params.console_token)
  // Before 2.31 Nova tells of RDP consoles only, which there are none of.
  if (!isSince(context, '2.31'))
    throw new Failure('unauthenticated', 'The requested console type details are not accessible')
  return { body: { console: consoleTokenView(place, links) } }
}
