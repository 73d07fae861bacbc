// Hello on fastify: node fastify.js PORT
'use strict';

const fastify = require('fastify')();

fastify.get('/', async (request, reply) => {
  reply.type('text/plain');
  return 'hello world';
});
fastify.listen({ port: Number(process.argv[2]), host: '127.0.0.1' });
