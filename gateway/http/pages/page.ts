import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Context, Hono } from 'hono'
import { compress } from 'hono/compress'
import { httpInput } from '../http-input.ts'
import type { LinksSource } from '../links.ts'

/** A page for browsers and the files it is made of; nothing else of any folder is reachable. */
export interface Page {
  /** Such as `/docs`; the files are below it. */
  readonly path: string
  /** The file of the page itself; `{base}` in it becomes the path its relative links start from. */
  readonly html: string
  /** The path below the page's -> the file. */
  readonly files: ReadonlyMap<string, string>
  /** Its Content-Security-Policy. */
  readonly policy: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** Serves a page, compressed for browsers that accept that. It needs no token: it requests its data like any other client. */
export function registerPage(app: Hono, page: Page, linksOf: LinksSource): void {
  const known = new Map<string, Promise<Buffer<ArrayBuffer>>>()
  const read = (file: string) => {
    const content = known.get(file) ?? (readFile(file) as Promise<Buffer<ArrayBuffer>>)
    known.set(file, content)
    return content
  }
  const compressed = compress()
  app.get(page.path, compressed, async (c) => {
    const html = (await read(page.html)).toString('utf8')
    const content = html.replaceAll('{base}', `${rootPath(c, linksOf)}${page.path}/`)
    return c.body(content, 200, { ...headersOf(page, page.html), 'Cache-Control': 'no-cache' })
  })
  for (const [name, file] of page.files)
    app.get(`${page.path}/${name}`, compressed, async (c) => {
      const headers = { ...headersOf(page, file), 'Cache-Control': 'public, max-age=3600' }
      return c.body(await read(file), 200, headers)
    })
}

/** Where clients find `/`: a proxy may have put a prefix in front. */
function rootPath(c: Context, linksOf: LinksSource): string {
  return new URL(linksOf(httpInput(c)).root).pathname.replace(/\/$/, '')
}

function headersOf(page: Page, file: string): Record<string, string> {
  return {
    'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream',
    'Content-Security-Policy': page.policy,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  }
}
