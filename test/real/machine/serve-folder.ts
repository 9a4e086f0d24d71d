import { once } from 'node:events'
import { createServer } from 'node:http'
import { join, normalize } from 'node:path'
import { sendFile } from '#drivers/baremetal/netboot/send-file.ts'

/** Files below the folder, for machines that boot from the network, until it is disposed. */
export async function serveFolder(folder: string, port: number): Promise<AsyncDisposable> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://folder.invalid')
    sendFile(join(folder, normalize(pathname)), request, response).catch(() => {
      if (response.headersSent) response.destroy()
      else response.writeHead(404).end()
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
