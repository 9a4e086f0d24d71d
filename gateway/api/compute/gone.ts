import { HttpRefusal } from '../../http/http-refusal.ts'
import type { Handler } from '../../http/operation.ts'

/** What nova-network once served: 410 with the words of webob's HTTPGone, as Nova leaves them. */
export const gone: Handler = async () => {
  throw new HttpRefusal(
    410,
    'This resource is no longer available. No forwarding address is given.',
  )
}
