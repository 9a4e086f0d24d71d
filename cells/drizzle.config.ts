import { defineConfig } from 'drizzle-kit'

// drizzle-kit reads its configuration from a default export.
export default defineConfig({
  dialect: 'mysql',
  schema: './cells/db/schema/*.ts',
  out: './cells/db/migrations',
})
