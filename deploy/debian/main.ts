import { resolve } from 'node:path'
import { say } from '../cli/say.ts'
import { buildDeb } from './build-deb.ts'

say(await buildDeb(resolve(process.argv[2] ?? 'dist')))
